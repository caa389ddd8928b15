package liveconfig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Value is the parsed content of one key of one ConfigMap.
type Value[T any] struct {
	namespace, name, key string
	parse                func([]byte) (T, error)
	informer             cache.SharedIndexInformer
	current              atomic.Pointer[read[T]]
	onChange             []func(old, current T)
	onError              []func(*corev1.ConfigMap, error)
}

// read is what the last look at the ConfigMap made of it.
type read[T any] struct {
	value  T
	hash   string
	err    error
	synced bool
	// failed identifies the text behind err, so that it is complained of once.
	failed string
}

// New returns a value that is initial until Run has read a good one. parse must not
// keep its argument.
func New[T any](client kubernetes.Interface, namespace, name, key string, parse func([]byte) (T, error), initial T) *Value[T] {
	v := &Value[T]{namespace: namespace, name: name, key: key, parse: parse, informer: watchOne(client, namespace, name)}
	v.current.Store(&read[T]{value: initial})
	return v
}

// watchOne watches the named ConfigMap alone, which is all that our roles allow.
func watchOne(client kubernetes.Interface, namespace, name string) cache.SharedIndexInformer {
	maps := client.CoreV1().ConfigMaps(namespace)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	one := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = only
			return maps.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = only
			return maps.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(one, client), &corev1.ConfigMap{}, 0, cache.Indexers{})
}

// OnChange has call run after each new value, on one goroutine. It must be called
// before Run.
func (v *Value[T]) OnChange(call func(old, current T)) { v.onChange = append(v.onChange, call) }

// OnError has call run for each new text that does not parse, on the same goroutine. It
// must be called before Run.
func (v *Value[T]) OnError(call func(*corev1.ConfigMap, error)) { v.onError = append(v.onError, call) }

// Current returns the value in force.
func (v *Value[T]) Current() T { return v.current.Load().value }

// Hash identifies the text in force: the first 12 hexadecimal digits of its SHA-256;
// "" while the initial value is.
func (v *Value[T]) Hash() string { return v.current.Load().hash }

// Err is what is wrong with the ConfigMap as it is now; nil while its text is in
// force.
func (v *Value[T]) Err() error { return v.current.Load().err }

// Synced tells whether the ConfigMap was looked for.
func (v *Value[T]) Synced() bool { return v.current.Load().synced }

// Run watches until ctx ends and waits for what it started.
func (v *Value[T]) Run(ctx context.Context) error {
	dirty := make(chan struct{}, 1)
	mark := func() {
		select {
		case dirty <- struct{}{}:
		default:
		}
	}
	if _, err := v.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { mark() },
		UpdateFunc: func(_, _ any) { mark() },
		DeleteFunc: func(any) { mark() },
	}); err != nil {
		return fmt.Errorf("watching config map %s: %w", v.name, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.informer.RunWithContext(ctx)
	}()
	defer func() { <-done }()

	if !cache.WaitForCacheSync(ctx.Done(), v.informer.HasSynced) {
		return ctx.Err()
	}
	v.look(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-dirty:
			v.look(ctx)
		}
	}
}

// look parses what is there now and puts it in force when it is good.
func (v *Value[T]) look(ctx context.Context) {
	logger := klog.FromContext(ctx).WithName("config")
	object, found := v.find()
	old := v.current.Load()
	next := v.judge(old, object, found)
	v.current.Store(next)
	if next.hash != old.hash {
		logger.V(2).Info("Configuration changed", "configMap", klog.KRef(v.namespace, v.name), "hash", next.hash)
		for _, call := range v.onChange {
			call(old.value, next.value)
		}
	}
	if next.failed != "" && next.failed != old.failed {
		logger.Error(next.err, "Reading the configuration; what was in force stays", "inForce", next.hash)
		for _, call := range v.onError {
			call(object, next.err)
		}
	}
}

// judge returns what is in force after the ConfigMap was seen, or was not there.
func (v *Value[T]) judge(old *read[T], object *corev1.ConfigMap, found bool) *read[T] {
	next := &read[T]{value: old.value, hash: old.hash, synced: true}
	if !found {
		next.err = fmt.Errorf("there is no config map %s/%s", v.namespace, v.name)
		return next
	}
	text, has := object.Data[v.key]
	if !has {
		next.err = fmt.Errorf("config map %s/%s has no key %s", v.namespace, v.name, v.key)
		return next
	}
	hash := hashOf(text)
	if hash == old.hash {
		return next
	}
	value, err := v.parse([]byte(text))
	if err != nil {
		// An empty text fails too, and is complained of like any other.
		next.err, next.failed = fmt.Errorf("config map %s/%s, %s: %w", v.namespace, v.name, v.key, err), hash
		return next
	}
	next.value, next.hash = value, hash
	return next
}

func (v *Value[T]) find() (*corev1.ConfigMap, bool) {
	object, found, err := v.informer.GetStore().GetByKey(v.namespace + "/" + v.name)
	if err != nil || !found {
		return nil, false
	}
	config, ok := object.(*corev1.ConfigMap)
	return config, ok
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:12]
}
