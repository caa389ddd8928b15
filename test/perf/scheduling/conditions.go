package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// conditions say where and when was measured.
func (o *options) conditions(began time.Time) []string {
	what := "whole shipped profile, fleet of healthy devices"
	if o.ours == "blind" {
		what = "whole shipped profile, without telemetry"
	}
	etcd := "on disk"
	if memoryDir() != "" {
		etcd = "in memory"
	}
	return []string{
		fmt.Sprintf("%s to %s", began.UTC().Format("2006-01-02 15:04"), time.Now().UTC().Format("15:04 MST")),
		fmt.Sprintf("%d cores, %s memory, which hold scheduler, API server, etcd and test together; etcd %s; load average at the end %s",
			runtime.NumCPU(), field("/proc/meminfo", "MemTotal:"), etcd, field("/proc/loadavg", "")),
		fmt.Sprintf("Kubernetes %s, %s, Wastenot %s", o.kubernetes, runtime.Version(), o.revision),
		"ours: " + what,
		fmt.Sprintf("workload: KIND-NODES/CONSTRAINTS; constraints are those of pods that state none, for both sides alike: system "+
			"(kube-scheduler's default; no batching), none (batching possible), shipped (stock: system, ours: none); up to %d pairs each, medians", o.pairs),
	}
}

// field is the first number behind the key in a file of the kernel, in GiB where that has
// kB; "unknown" where there is none.
func field(path, key string) string {
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		rest, found := strings.CutPrefix(lines.Text(), key)
		if !found {
			continue
		}
		words := strings.Fields(rest)
		var kilobytes int64
		if len(words) == 2 && words[1] == "kB" {
			if _, err := fmt.Sscan(words[0], &kilobytes); err == nil {
				return fmt.Sprintf("%d GiB", kilobytes>>20)
			}
		}
		if len(words) > 0 {
			return words[0]
		}
	}
	return "unknown"
}
