/*
 * Ports for measuring assemblies of components (CCA): those of TAU's performance interface (SIDL package
 * Performance, 1.7.2) in C++, with the Mastermind's. marple_cca.hpp has components that provide them.
 */
#ifndef MARPLE_PORTS_HPP
#define MARPLE_PORTS_HPP

#include <cca.h>

#include <string>
#include <vector>

namespace Performance {

/* Adds up the time from start to stop, in the thread that calls both. What is still inside is stopped, too. */
class Timer {
public:
    virtual ~Timer() {}
    virtual void start() = 0;
    virtual void stop() = 0;
    /* While it runs: until it stops, it also counts as a timer of its own, "NAME [ <name=value> ]". */
    virtual void setParam1L(long value, const std::string &name) = 0;
    virtual void setName(const std::string &name) = 0;
    virtual std::string getName() = 0;
    virtual void setType(const std::string &type) = 0;
    virtual std::string getType() = 0;
    /* Several groups are separated by "|"; a timer is on if one of its groups is. */
    virtual void setGroupName(const std::string &group) = 0;
    virtual std::string getGroupName() = 0;
    /* A sum of powers of two, one for each group. */
    virtual void setGroupId(long group) = 0;
    virtual long getGroupId() = 0;
};

/* A part of the run: timers that run in it also count for a timer of their own, "PHASE => TIMER". */
class Phase : public virtual Timer {};

class Event {
public:
    virtual ~Event() {}
    virtual void setName(const std::string &name) = 0;
    virtual void trigger(double value) = 0;
};

/* Counts also for each stack of timers that it is triggered in, as "NAME : OUTER => INNER". */
class ContextEvent {
public:
    virtual ~ContextEvent() {}
    virtual void setName(const std::string &name) = 0;
    virtual void trigger(double value) = 0;
    /* Whether it counts for stacks of timers, too. */
    virtual void enable() = 0;
    virtual void disable() = 0;
};

class Control {
public:
    virtual ~Control() {}
    virtual void enableGroupId(long group) = 0;
    virtual void disableGroupId(long group) = 0;
    virtual void enableGroupName(const std::string &group) = 0;
    virtual void disableGroupName(const std::string &group) = 0;
    virtual void enableAllGroups() = 0;
    virtual void disableAllGroups() = 0;
};

/* Triggers an event with the memory that the process has allocated (kB). */
class MemoryTracker {
public:
    virtual ~MemoryTracker() {}
    virtual void trackHere() = 0;
    /* Does it every so many seconds, at first every ten, in a thread of its own. */
    virtual void enableInterruptTracking() = 0;
    virtual void setInterruptInterval(int seconds) = 0;
    virtual void enable() = 0;
    virtual void disable() = 0;
};

/* The same with what it could still allocate (MB). */
class MemoryHeadroomTracker : public virtual MemoryTracker {};

class Query {
public:
    typedef std::vector<std::string> Names;
    virtual ~Query() {}
    virtual void getTimerNames(Names &timers) = 0;
    virtual void getCounterNames(Names &counters) = 0;
    /* A row for each timer, of a column for each counter: microseconds. Unknown timers have zeros. */
    virtual void getTimerData(const Names &timers, std::vector<std::vector<double>> &counterExclusive,
                              std::vector<std::vector<double>> &counterInclusive, std::vector<int> &numCalls,
                              std::vector<int> &numChildCalls, Names &counterNames, int &numCounters) = 0;
    virtual void getEventNames(Names &events) = 0;
    virtual void getEventData(const Names &events, std::vector<int> &numSamples, std::vector<double> &max,
                              std::vector<double> &min, std::vector<double> &mean, std::vector<double> &sumSqr) = 0;
    /* Standard deviations, which sums of squares may have lost to rounding; beyond the published interface. */
    virtual void getEventDeviations(const Names &events, std::vector<double> &deviations) = 0;
    /* To PREFIX.RANK.0.0, at first "profile", in TAU's format; incremental ones to PREFIX__NUMBER.RANK.0.0. */
    virtual void dumpProfileData() = 0;
    virtual void dumpProfileDataPrefix(const std::string &prefix) = 0;
    virtual void dumpProfileDataIncremental() = 0;
    /* To dump_functionnames.RANK.0.0, and to dump.RANK.0.0 like profiles. */
    virtual void dumpTimerNames() = 0;
    virtual void dumpTimerData(const Names &timers) = 0;
    virtual void dumpTimerDataIncremental(const Names &timers) = 0;
};

/* What is made belongs to the provider. A name that is there already, of the same type and group, is the same timer. */
class Measurement : public virtual classic::gov::cca::Port {
public:
    virtual Timer *createTimer() = 0;
    virtual Timer *createTimerWithName(const std::string &name) = 0;
    virtual Timer *createTimerWithNameType(const std::string &name, const std::string &type) = 0;
    virtual Timer *createTimerWithNameTypeGroup(const std::string &name, const std::string &type, const std::string &group) = 0;
    virtual Phase *createPhase() = 0;
    virtual Phase *createPhaseWithName(const std::string &name) = 0;
    virtual Phase *createPhaseWithNameType(const std::string &name, const std::string &type) = 0;
    virtual Phase *createPhaseWithNameTypeGroup(const std::string &name, const std::string &type, const std::string &group) = 0;
    virtual Query *createQuery() = 0;
    virtual MemoryTracker *createMemoryTracker() = 0;
    virtual MemoryHeadroomTracker *createMemoryHeadroomTracker() = 0;
    virtual Event *createEvent() = 0;
    virtual Event *createEventWithName(const std::string &name) = 0;
    virtual ContextEvent *createContextEventWithName(const std::string &name) = 0;
    virtual Control *createControl() = 0;
};

/* What proxies tell of invocations. Records have names like "Flux::compute()": component and method. */
class Monitor : public virtual classic::gov::cca::Port {
public:
    virtual void startMonitoring(const std::string &rname) = 0;
    virtual void stopMonitoring(const std::string &rname, const std::vector<std::string> &paramNames,
                                const std::vector<double> &paramValues) = 0;
    /* The older style, with the parameters at the start. */
    virtual void startMonitoring(const std::string &rname, const std::vector<std::string> &paramNames,
                                 const std::vector<double> &paramValues) = 0;
    virtual void stopMonitoring(const std::string &rname) = 0;
    /* Preset: COMPONENT.METHOD.csv. In a run of several processes, each adds its rank, if it is known. */
    virtual void setFileName(const std::string &rname, const std::string &fname) = 0;
    virtual void dumpData(const std::string &rname) = 0;
    virtual void dumpDataFileName(const std::string &rname, const std::string &fname) = 0;
    virtual void destroyRecord(const std::string &rname) = 0;
    /* Whether invocations of a method are recorded; beyond the published interface. */
    virtual void setMonitoring(const std::string &rname, bool on) = 0;
};

class PerfParam : public virtual classic::gov::cca::Port {
public:
    /* A row for each invocation: wall time, time in MPI, computation (seconds), parameters. Not 0: no such record. */
    virtual int getPerformanceData(const std::string &rname, std::vector<std::vector<double>> &data, bool reset) = 0;
    /* Returns how many there are. */
    virtual int getCompMethNames(std::vector<std::string> &names) = 0;
};

}

#endif
