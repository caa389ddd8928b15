package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	podHeader  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
	nodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n"
)

func TestReadPods(t *testing.T) {
	t.Parallel()
	whole := Pod{Name: "a", CPUMilli: 4000, MemoryMiB: 10, GPUs: 2, GPUMilli: 1000, Models: []string{"V100M16", "V100M32"}}
	tests := map[string]struct {
		text string
		want []Pod
	}{
		"all columns":           {podHeader + "a,4000,10,2,1000,V100M16|V100M32,LS\n", []Pod{whole}},
		"columns by name":       {"x,gpu_spec,gpu_milli,num_gpu,memory_mib,cpu_milli,name\n1,|V100M16|V100M32,1000,2,10,4000,a\n", []Pod{whole}},
		"five columns":          {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\nb,1,0,1,460\n", []Pod{{Name: "b", CPUMilli: 1, GPUs: 1, GPUMilli: 460}}},
		"no device":             {podHeader + "c,1,2,0,,,BE\n", []Pod{{Name: "c", CPUMilli: 1, MemoryMiB: 2}}},
		"no device, stray part": {podHeader + "c,1,2,0,500,T4,BE\n", []Pod{{Name: "c", CPUMilli: 1, MemoryMiB: 2}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadPods(file(t, tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadPodsNamesEveryError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"missing columns": {"name,cpu_milli,num_gpu\na,1,1\n", []string{"pods.csv", "line 1", `"memory_mib"`, `"gpu_milli"`, "add it"}},
		"column twice":    {"name,name\n", []string{"line 1", `"name" twice`}},
		"empty file":      {"", []string{"header", "name,cpu_milli,memory_mib,num_gpu,gpu_milli"}},
		"no lines":        {podHeader, []string{"no line below the header"}},
		"too few fields":  {podHeader + "a,1\n", []string{"line 2", "wrong number of fields"}},
		"several values": {
			podHeader + "a,1,1,1,1000,,LS\nb,x,-1,1,1000,,LS\n,1,1,1.5,1000,,LS\n",
			[]string{`line 3, column cpu_milli: "x"`, `line 3, column memory_mib: "-1"`, `line 4, column name: ""`, `line 4, column num_gpu: "1.5"`, "give a whole number from 0 to"},
		},
		"part above whole": {podHeader + "a,1,1,1,1001,,LS\n", []string{"line 2, column gpu_milli", "1 to 1000"}},
		"part of nothing":  {podHeader + "a,1,1,1,0,,LS\n", []string{"line 2, column gpu_milli", "1 to 1000"}},
		"parts of several": {podHeader + "a,1,1,2,500,,LS\n", []string{"line 2, column gpu_milli", "1000 to 1000"}},
		"huge number":      {podHeader + "a,99999999999999999999,1,1,1000,,LS\n", []string{"line 2, column cpu_milli"}},
		"name twice":       {podHeader + "a,1,1,1,1000,,LS\na,1,1,1,1000,,LS\n", []string{`line 3, column name: "a"`, "line 2 has it already"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadPods(file(t, tt.text))
			wantWords(t, err, tt.want)
		})
	}
}

func TestReadNodes(t *testing.T) {
	t.Parallel()
	nodes, err := ReadNodes(file(t, nodeHeader+"n1,8000,1024,8,G2\nn2,4000,512,0,\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Node{{Name: "n1", CPUMilli: 8000, MemoryMiB: 1024, GPUs: 8, Model: "G2"}, {Name: "n2", CPUMilli: 4000, MemoryMiB: 512}}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Error(diff)
	}
	if got := CapacityMilli(nodes); got != 8000 {
		t.Errorf("the capacity is %d milli, want 8000", got)
	}
	_, err = ReadNodes(file(t, nodeHeader+"n1,8000,1024,65,G2\nn1,8000,1024,8,G2\n"))
	wantWords(t, err, []string{"line 2, column gpu", "line 3, column sn"})
}

// A file of nothing but faults must not fill the screen.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := ReadPods(file(t, podHeader+strings.Repeat(",x,x,x,x,,\n", 1000)))
	if err == nil {
		t.Fatal("no error")
	}
	if lines := strings.Count(err.Error(), "\n"); lines > 2*maxErrors {
		t.Errorf("the error has %d lines", lines)
	}
}

func TestPublished(t *testing.T) {
	t.Parallel()
	published, err := ReadPublished(file(t, "trace,policy,seed,alloc_pct_at_130\na,fgd,1,90\na,fgd,2,91\n"))
	if err != nil {
		t.Fatal(err)
	}
	if mean, ok := published.Mean("a", "fgd"); !ok || mean != 90.5 {
		t.Errorf("the mean is %v, %t, want 90.5", mean, ok)
	}
	if _, ok := published.Mean("a", "random"); ok {
		t.Error("there is a mean that nobody published")
	}
	if published, err = ReadPublished(filepath.Join(t.TempDir(), "none.csv")); err != nil {
		t.Errorf("a folder without published results: %v", err)
	} else if _, ok := published.Mean("a", "fgd"); ok {
		t.Error("there is a mean without a file")
	}
	for _, value := range []string{"NaN", "101", "-1", ""} {
		_, err = ReadPublished(file(t, "trace,policy,alloc_pct_at_130\na,fgd,"+value+"\n"))
		wantWords(t, err, []string{"line 2, column alloc_pct_at_130", "0 to 100"})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	names, err := Names(filepath.Join("..", "testdata", "small"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"shares", "small"}, names); diff != "" {
		t.Error(diff)
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pods.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantWords(t *testing.T, err error, words []string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range words {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
