package sample

// Field names one kind of reading. The unit of each is fixed here, so that no
// reader has to know which source a value came from.
type Field int

// The readings that the product uses. Ratios are 0 to 1.
const (
	// EngineActive is the share of time that any engine was busy (DCGM field 1001).
	// For a MIG instance it is normalised to the instance.
	EngineActive Field = iota
	// SMActive is the share of cycles with a warp resident, averaged over SMs (DCGM 1002).
	SMActive
	// TensorActive is the share of cycles that the tensor pipe was busy (DCGM 1004).
	TensorActive
	// DRAMActive is the share of cycles that device memory moved data (DCGM 1005).
	DRAMActive
	// GPUUtil is NVML utilisation as a ratio; never used under MIG (DCGM 203).
	GPUUtil
	// MemCopyUtil is NVML memory-controller utilisation as a ratio (DCGM 204).
	MemCopyUtil
	// FBUsed is device memory in use, bytes.
	FBUsed
	// FBFree is device memory free, bytes.
	FBFree
	// Power is the board's power draw, watts. Every MIG row repeats the parent's.
	Power
	// Energy is the board's energy since driver load, joules (DCGM reports mJ).
	Energy
	// SMClock is the SM clock, hertz.
	SMClock
	// GPUTemp is the die temperature, degrees Celsius.
	GPUTemp
	// MemTemp is the memory temperature, degrees Celsius; 0 means unsupported and is Unknown.
	MemTemp
	// XID is the last XID code, 0 for none since the exporter started. It is sticky.
	XID
	// RowRemapFailure is 1 when a row remap failed.
	RowRemapFailure
	// RowRemapPending is 1 when a remap awaits a reset.
	RowRemapPending
	// CorrectableRemaps counts rows remapped for correctable errors.
	CorrectableRemaps
	// UncorrectableRemaps counts rows remapped for uncorrectable errors.
	UncorrectableRemaps
	// PCIeReplays counts PCIe replays since driver load. Healthy boards show hundreds.
	PCIeReplays
	// ECCSingleBit counts volatile single-bit errors since driver load.
	ECCSingleBit
	// ECCDoubleBit counts volatile double-bit errors since driver load.
	ECCDoubleBit
	// ClocksEventReasons is NVML's bit mask of why clocks are held down.
	ClocksEventReasons
	// ThermalViolation is time throttled for heat since driver load, seconds.
	ThermalViolation
	// PowerViolation is time throttled for power since driver load, seconds.
	PowerViolation

	fieldCount
)

// Fields is one row of readings, indexed by Field. The zero row is all Unknown.
type Fields [fieldCount]Value
