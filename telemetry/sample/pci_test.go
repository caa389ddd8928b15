package sample

import "testing"

func TestNormalizePCIBringsEverySpellingToOne(t *testing.T) {
	tests := map[string]struct{ id, want string }{
		"NVML and DCGM":             {"00000000:06:00.0", "00000000:06:00"},
		"DCGM in upper case":        {"00000000:3B:00.0", "00000000:3b:00"},
		"DRA driver":                {"0000:00:04.0", "00000000:00:04"},
		"kernel log":                {"PCI:0000:9b:00", "00000000:9b:00"},
		"mock NVML":                 {"0000:0A:00.0", "00000000:0a:00"},
		"second domain":             {"0009:01:00", "00000009:01:00"},
		"five-digit domain":         {"10000:01:00.0", "00010000:01:00"},
		"lspci without domain":      {"06:00.0", "00000000:06:00"},
		"spaces around":             {" 0000:06:00.0\n", "00000000:06:00"},
		"empty":                     {"", ""},
		"not applicable":            {"N/A", ""},
		"a device name":             {"nvidia0", ""},
		"no hex":                    {"0000:zz:00.0", ""},
		"too many parts":            {"0:0000:06:00.0", ""},
		"domain too long":           {"000000000:06:00.0", ""},
		"empty domain":              {":06:00.0", ""},
		"bus too short":             {"0000:6:00.0", ""},
		"function of two digits":    {"0000:06:00.00", ""},
		"function that is no digit": {"0000:06:00.x", ""},
		"only separators":           {"::.", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := NormalizePCI(test.id); got != test.want {
				t.Errorf("NormalizePCI(%q) = %q, want %q", test.id, got, test.want)
			}
		})
	}
}

func FuzzNormalizePCI(f *testing.F) {
	for _, seed := range []string{"00000000:06:00.0", "PCI:0000:9b:00", "06:00.0", "N/A", "::.", "PCI:PCI:06:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		once := NormalizePCI(id)
		if once == "" {
			return
		}
		if len(once) != len("00000000:06:00") {
			t.Errorf("NormalizePCI(%q) = %q, which is not of the one form", id, once)
		}
		if again := NormalizePCI(once); again != once {
			t.Errorf("NormalizePCI(%q) = %q, and of that %q", id, once, again)
		}
	})
}
