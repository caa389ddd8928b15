// Package pluginargs decodes the arguments of our scheduler plugins, strictly: the
// framework's own decoder would pass a misspelled field in silence.
//
// The plugins of this tree use it. Start reading at Decode.
package pluginargs
