package symbol

import "container/list"

// A parsedUnit is what the package has made of one unit, ready for lookups.
type parsedUnit struct {
	index     int   // of the unit
	unit      *unit // in the module's debug information: the lines are here
	detail    *unit // where the functions are: unit, or the split unit it stands for
	functions *functionTable
	lines     *lineTable       // nil if there is none, or it was not needed yet
	hasLines  bool             // lines is as it will stay
	names     map[int32]string // readable names by scope
	dwo       *image           // the file with detail, if it is for this unit alone
	err       error            // the unit cannot be parsed
	cost      int64            // memory taken, approximately
}

// A unitCache holds the units that were used last, up to a total cost.
type unitCache struct {
	byIndex map[int]*list.Element // of *parsedUnit
	recent  list.List             // the one used last is in front
	cost    int64
}

// get returns a unit from the cache, nil if it is not there.
func (c *unitCache) get(index int) *parsedUnit {
	e := c.byIndex[index]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*parsedUnit)
}

// add puts a unit that is not in the cache there.
func (c *unitCache) add(p *parsedUnit) {
	if c.byIndex == nil {
		c.byIndex = make(map[int]*list.Element)
	}
	c.byIndex[p.index] = c.recent.PushFront(p)
	c.cost += p.cost
}

// grow notes that a unit takes more memory than it did.
func (c *unitCache) grow(p *parsedUnit, bytes int64) {
	p.cost += bytes
	if e := c.byIndex[p.index]; e != nil && e.Value == p {
		c.cost += bytes
	}
}

// trim removes the units not used for longest until the rest costs at most
// limit, but never the unit in use.
func (c *unitCache) trim(limit int64, inUse *parsedUnit) {
	for e := c.recent.Back(); e != nil && c.cost > limit; {
		p, before := e.Value.(*parsedUnit), e.Prev()
		if p != inUse {
			c.recent.Remove(e)
			delete(c.byIndex, p.index)
			c.cost -= p.cost
			p.dwo.close()
		}
		e = before
	}
}

// clear removes all units.
func (c *unitCache) clear() {
	c.trim(-1, nil)
}
