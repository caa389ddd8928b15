package sample

import "strings"

// NormalizePCI brings a PCI bus id to one spelling, so that ids from different
// sources can be compared: eight-digit domain, bus and device in lower case, as
// in "00000000:9b:00". The function is dropped: the kernel log leaves it out and
// a GPU has only one that matters.
//
// It reads the spellings that NVML and DCGM ("00000000:06:00.0"), DRA drivers
// ("0000:00:04.0"), the kernel log ("PCI:0000:9b:00") and lspci ("06:00.0") use.
// Anything else gives the empty string, which is no id at all.
func NormalizePCI(id string) string {
	rest := strings.ToLower(strings.TrimSpace(id))
	rest = strings.TrimPrefix(rest, "pci:")
	rest, function, hasFunction := strings.Cut(rest, ".")
	if hasFunction && (len(function) != 1 || !isHex(function)) {
		return ""
	}
	domain := "0"
	if strings.Count(rest, ":") == 2 {
		domain, rest, _ = strings.Cut(rest, ":")
	}
	bus, device, found := strings.Cut(rest, ":")
	if !found || len(bus) != 2 || len(device) != 2 || domain == "" || len(domain) > 8 {
		return ""
	}
	if !isHex(domain) || !isHex(bus) || !isHex(device) {
		return ""
	}
	return strings.Repeat("0", 8-len(domain)) + domain + ":" + bus + ":" + device
}

func isHex(text string) bool {
	for _, digit := range []byte(text) {
		if (digit < '0' || digit > '9') && (digit < 'a' || digit > 'f') {
			return false
		}
	}
	return true
}
