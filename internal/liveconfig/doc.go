// Package liveconfig keeps a value current that people write into a ConfigMap.
//
// It provides a Value: the content of one key, parsed, the last good one in force. It
// does not know what the content means and does not write.
//
// The scheduler and the webhook use it. Invariants: readers never wait; a text that
// does not parse changes nothing but Err; without the ConfigMap or the key the initial
// value is in force, and again once the ConfigMap is deleted only after a restart:
// what was good stays.
//
// Start reading at Value.
package liveconfig
