package version

var version = "unknown"

// String returns the version, such as v0.1.0-3-gabc1234.
func String() string { return version }
