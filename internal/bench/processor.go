package main

import (
	"fmt"
	"os"
	"strings"
)

// processorTime is what the machine's cores have done since it started, in
// seconds.
type processorTime struct {
	busy   float64 // in all processes and the kernel
	own    float64 // in this process
	stolen float64 // while another guest of the host ran instead
}

// ticksPerSecond is the unit of /proc/stat, the same on every Linux.
const ticksPerSecond = 100

// processors reads the time so far; zero where the system does not tell.
func processors() processorTime {
	var user, nice, system, idle, waiting, hard, soft, stolen float64
	all, _ := os.ReadFile("/proc/stat")
	if _, err := fmt.Sscanf(string(all), "cpu %g %g %g %g %g %g %g %g", &user, &nice, &system, &idle, &waiting, &hard, &soft, &stolen); err != nil {
		return processorTime{}
	}
	p := processorTime{busy: (user + nice + system + hard + soft) / ticksPerSecond, stolen: stolen / ticksPerSecond}
	// Behind the program's name in parentheses come 11 other fields.
	self, _ := os.ReadFile("/proc/self/stat")
	if list := strings.Fields(string(self[strings.LastIndexByte(string(self), ')')+1:])); len(list) > 12 {
		if _, err := fmt.Sscan(list[11]+" "+list[12], &user, &system); err == nil {
			p.own = (user + system) / ticksPerSecond
		}
	}
	return p
}

func (p processorTime) since(start processorTime) processorTime {
	return processorTime{busy: p.busy - start.busy, own: p.own - start.own, stolen: p.stolen - start.stolen}
}
