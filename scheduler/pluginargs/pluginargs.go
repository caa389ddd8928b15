package pluginargs

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"wastenot.dev/internal/strictyaml"
)

// Decode reads what a scheduler configuration has for the plugin; nothing leaves args as
// they are.
func Decode(plugin string, object runtime.Object, args any) error {
	switch raw := object.(type) {
	case nil:
		return nil
	case *runtime.Unknown:
		if err := strictyaml.Unmarshal(raw.Raw, args); err != nil {
			return fmt.Errorf("decoding the args of plugin %s: %w", plugin, err)
		}
		return nil
	default:
		return fmt.Errorf("decoding the args of plugin %s: unexpected type %T", plugin, object)
	}
}
