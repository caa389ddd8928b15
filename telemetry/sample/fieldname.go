package sample

var fieldNames = [fieldCount]string{
	EngineActive:        "EngineActive",
	SMActive:            "SMActive",
	TensorActive:        "TensorActive",
	DRAMActive:          "DRAMActive",
	GPUUtil:             "GPUUtil",
	MemCopyUtil:         "MemCopyUtil",
	FBUsed:              "FBUsed",
	FBFree:              "FBFree",
	Power:               "Power",
	Energy:              "Energy",
	SMClock:             "SMClock",
	GPUTemp:             "GPUTemp",
	MemTemp:             "MemTemp",
	XID:                 "XID",
	RowRemapFailure:     "RowRemapFailure",
	RowRemapPending:     "RowRemapPending",
	CorrectableRemaps:   "CorrectableRemaps",
	UncorrectableRemaps: "UncorrectableRemaps",
	PCIeReplays:         "PCIeReplays",
	ECCSingleBit:        "ECCSingleBit",
	ECCDoubleBit:        "ECCDoubleBit",
	ClocksEventReasons:  "ClocksEventReasons",
	ThermalViolation:    "ThermalViolation",
	PowerViolation:      "PowerViolation",
}

// String names the field for messages, as its constant is named.
func (f Field) String() string {
	if f < 0 || f >= fieldCount {
		return "invalid field"
	}
	return fieldNames[f]
}
