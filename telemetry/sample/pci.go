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
	rest := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(id)), "pci:")
	rest, function, hasFunction := strings.Cut(rest, ".")
	if hasFunction && !isHex(function, 1, 1) {
		return ""
	}
	parts := strings.Split(rest, ":")
	if len(parts) == 2 {
		parts = []string{"0", parts[0], parts[1]}
	}
	if len(parts) != 3 || !isHex(parts[0], 1, 8) || !isHex(parts[1], 2, 2) || !isHex(parts[2], 2, 2) {
		return ""
	}
	return strings.Repeat("0", 8-len(parts[0])) + strings.Join(parts, ":")
}

// isHex tells whether text is a lower-case hexadecimal number of shortest to
// longest digits.
func isHex(text string, shortest, longest int) bool {
	for _, digit := range []byte(text) {
		if (digit < '0' || digit > '9') && (digit < 'a' || digit > 'f') {
			return false
		}
	}
	return len(text) >= shortest && len(text) <= longest
}
