package quota

import "wastenot.dev/internal/accelerator"

// maxMIGShare is the greatest share of a device that the profile has on any product, in
// millionths, rounded down.
func maxMIGShare(profile string) (int64, bool) {
	share, ok := accelerator.MaxMIGShare(profile)
	return share.Micros(), ok
}
