/*
 * Components that measure an assembly (CCA), with the ports of marple_ports.hpp: Tau provides Measurement, the
 * Mastermind provides Monitor and PerfParam.
 *
 *     #include <marple_cca.hpp>          // needs the framework's cca.h
 *     extern "C" classic::gov::cca::Component *create_Tau() { return new marple::cca::Tau; }
 *     extern "C" classic::gov::cca::Component *create_Mastermind() { return new marple::cca::Mastermind; }
 *
 * Both stand on the hooks of marple.h: a timer is a region of the run's call graph, what is monitored is one of
 * its invocations. Without libmarple.so they measure by themselves; time in MPI is 0 then.
 *
 * Any thread may use them. What is done at each event takes no lock; making a timer and the like does. Nothing
 * grows without bound: the limits and what happens beyond them stand below.
 */
#ifndef MARPLE_CCA_HPP
#define MARPLE_CCA_HPP

#include "marple.hpp"
#include "marple_ports.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <malloc.h>
#include <memory>
#include <mutex>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace marple {
namespace cca {

constexpr std::size_t max_groups = 62;      /* further ones share the last one's id */
constexpr std::size_t max_timers = 4096;    /* further ones are one timer, "(further timers)"; events likewise */
constexpr std::size_t max_running = 128;    /* timers, or invocations, inside each other; deeper ones do not count */
constexpr std::size_t max_derived = 64;     /* of a timer: phases and parameters; of an event: stacks of timers */
constexpr std::size_t max_records = 1024;   /* methods that are monitored; further ones are not */
constexpr std::size_t max_parameters = 16;  /* of a method; further ones are not recorded */
constexpr double max_exact = 9007199254740992.; /* up to here a whole number is recorded as one */
constexpr std::size_t max_rows = 64 * 1024; /* invocations of a method; a record keeps the first ones */

/* What a thread has spent: nanoseconds, also in MPI. */
struct reading {
    std::uint64_t wall, mpi;

    static reading now() noexcept
    {
        marple_totals totals;
        if (marple_read_totals(&totals))
            return {totals.wall, totals.mpi};
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return {static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec), 0};
    }
    reading operator-(const reading &other) const noexcept { return {wall - other.wall, mpi - other.mpi}; }
    reading &operator+=(const reading &other) noexcept
    {
        wall += other.wall;
        mpi += other.mpi;
        return *this;
    }
};

/* What MPI says of MPI_COMM_WORLD, as long as it can be asked; whichever library it is, as there is no mpi.h here. */
inline bool ask_mpi(int &rank, int &ranks)
{
    auto function = [](const char *name) { return dlsym(RTLD_DEFAULT, name); };
    auto initialized = reinterpret_cast<int (*)(int *)>(function("PMPI_Initialized"));
    auto finalized = reinterpret_cast<int (*)(int *)>(function("PMPI_Finalized"));
    auto ask_rank = reinterpret_cast<int (*)(void *, int *)>(function("PMPI_Comm_rank"));
    auto ask_size = reinterpret_cast<int (*)(void *, int *)>(function("PMPI_Comm_size"));
    int begun = 0, over = 0;
    if (!initialized || !finalized || !ask_rank || !ask_size || initialized(&begun) || finalized(&over) || !begun || over)
        return false;
    void *world = function("ompi_mpi_comm_world");
    if (!world) { /* a number: the standard ABI's, or MPICH's */
        Dl_info where;
        bool standard = dladdr(reinterpret_cast<void *>(ask_rank), &where) && where.dli_fname && std::strstr(where.dli_fname, "libmpi_abi");
        world = reinterpret_cast<void *>(static_cast<std::uintptr_t>(standard ? 0x101 : 0x44000000));
    }
    return ask_rank(world, &rank) == 0 && ask_size(world, &ranks) == 0;
}

/* This process's rank, and how many there are: the run's, or if it is not measured MPI's, or the launcher's. */
inline std::pair<long, long> place()
{
    static std::atomic<long> known_rank{0}, known_ranks{0}; /* for when MPI is over */
    marple_totals totals;
    int rank = 0, ranks = 0;
    if (marple_read_totals(&totals))
        return {totals.rank, totals.ranks};
    if (ask_mpi(rank, ranks)) {
        known_rank = rank;
        known_ranks = ranks;
    }
    if (known_ranks > 0)
        return {known_rank, known_ranks};
    static const char *const launchers[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"},
                                               {"SLURM_PROCID", "SLURM_NTASKS"}};
    for (auto &names : launchers)
        if (const char *rank = std::getenv(names[0]), *ranks = std::getenv(names[1]); rank && ranks)
            return {std::atol(rank), std::atol(ranks)};
    return {0, 1};
}

/* Writes a file, wholly or not at all; a problem is said on stderr and is not the program's. */
inline void write_file(const std::string &name, const std::function<void(FILE *)> &write)
{
    std::string beside = name + ".part" + std::to_string(getpid());
    FILE *file = std::fopen(beside.c_str(), "w");
    bool well = file != nullptr;
    if (file) {
        write(file);
        well = !std::ferror(file);
        well = std::fclose(file) == 0 && well;
        well = well && std::rename(beside.c_str(), name.c_str()) == 0;
    }
    if (!well) {
        std::fprintf(stderr, "marple: %s is not written: %s\n", name.c_str(), std::strerror(errno));
        std::remove(beside.c_str());
    }
}

/* A table that is looked up without a lock, and only grows: things by their key, at most n of them. */
template <class Thing, std::size_t n> class table {
public:
    ~table()
    {
        for (auto &slot : slots_)
            delete slot.load();
    }

    /* The thing, made if need be; NULL if there is no room for it. same(thing) says whether it is the one. */
    template <class Same, class Make> Thing *get(std::size_t key, Same same, Make make)
    {
        for (std::size_t i = 0; i < n; i++) {
            auto &slot = slots_[(key + i) % n];
            Thing *there = slot.load(std::memory_order_acquire);
            if (!there) {
                std::unique_ptr<Thing> made(make());
                if (!made || slot.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel))
                    return made.release();
            }
            if (same(*there))
                return there;
        }
        return nullptr;
    }
    template <class Use> void each(Use use) const
    {
        for (auto &slot : slots_)
            if (Thing *there = slot.load(std::memory_order_acquire))
                use(*there);
    }

private:
    std::atomic<Thing *> slots_[n] = {};
};

/* Groups of timers. Each has a bit; those of MPI's functions are the run's. */
class groups {
public:
    static constexpr long mpi = 1;

    static bool on(long mask) noexcept { return state().on.load(std::memory_order_relaxed) & static_cast<unsigned long>(mask); }

    static void set(long mask, bool to)
    {
        auto bits = static_cast<unsigned long>(mask);
        unsigned long before = to ? state().on.fetch_or(bits) : state().on.fetch_and(~bits);
        if ((mask & mpi) && static_cast<bool>(before & mpi) != to)
            marple_record_mpi(to);
    }

    /* The ids of all names between "|". */
    static long id(const std::string &names)
    {
        long mask = 0;
        for (std::size_t at = 0; at <= names.size();) {
            std::size_t end = std::min(names.find('|', at), names.size());
            std::size_t first = names.find_first_not_of(' ', at), last = names.find_last_not_of(' ', end ? end - 1 : 0);
            if (first < end)
                mask |= of(names.substr(first, last - first + 1));
            at = end + 1;
        }
        return mask;
    }

    /* The names, in the order of their bits. */
    static std::string names(long mask)
    {
        std::lock_guard<std::mutex> lock(state().making);
        std::string text;
        for (std::size_t i = 0; i < state().names.size(); i++)
            if (mask >> i & 1)
                text += (text.empty() ? "" : "|") + state().names[i];
        return text;
    }

private:
    struct all {
        std::atomic<unsigned long> on{~0ul};
        std::mutex making;
        std::vector<std::string> names{"MPI", "TAU_USER"};
    };
    static all &state()
    {
        static all *one = new all; /* never destroyed: timers may stop late */
        return *one;
    }
    static long of(const std::string &name)
    {
        all &s = state();
        std::lock_guard<std::mutex> lock(s.making);
        for (std::size_t i = 0; i < s.names.size(); i++)
            if (s.names[i] == name)
                return 1l << i;
        if (s.names.size() < max_groups)
            s.names.push_back(name);
        return 1l << (s.names.size() - 1);
    }
};

/* Number, least, greatest, mean and deviation of finite values. Sums are those of differences to the first value. */
class statistics {
public:
    struct values {
        std::uint64_t count;
        double max, min, mean, squares, deviation;
    };

    void add(double x) noexcept
    {
        if (!std::isfinite(x))
            return;
        double first = unset();
        first_.compare_exchange_strong(first, x); /* NaN compares by its bits */
        first = first_.load();
        count_.fetch_add(1, std::memory_order_relaxed);
        plus(sum_, x - first);
        plus(squares_, (x - first) * (x - first));
        for (double least = min_.load(); x < least && !min_.compare_exchange_weak(least, x);)
            ;
        for (double most = max_.load(); x > most && !max_.compare_exchange_weak(most, x);)
            ;
    }

    values get() const
    {
        auto n = static_cast<double>(count_.load());
        if (n == 0)
            return {0, 0, 0, 0, 0, 0};
        double first = first_.load(), sum = sum_.load(), squares = squares_.load();
        double variance = (squares - sum * sum / n) / n;
        return {count_.load(), max_.load(), min_.load(), first + sum / n, squares + 2 * first * sum + n * first * first,
                variance > 0 ? std::sqrt(variance) : 0};
    }

private:
    static double unset() { return std::numeric_limits<double>::quiet_NaN(); }
    static void plus(std::atomic<double> &sum, double x) noexcept
    {
        for (double before = sum.load(); !sum.compare_exchange_weak(before, before + x);)
            ;
    }
    std::atomic<std::uint64_t> count_{0};
    std::atomic<double> first_{unset()}, sum_{0}, squares_{0};
    std::atomic<double> min_{std::numeric_limits<double>::infinity()}, max_{-std::numeric_limits<double>::infinity()};
};

class timer;

/* Timers that run in a thread, the outermost first. */
struct running {
    struct frame {
        timer *what;
        timer *also[4]; /* that it counts for */
        reading begin, children;
        bool outermost; /* of this timer */
    };
    std::size_t depth = 0, beyond = 0;
    std::size_t context = 0; /* a hash of all */
    frame frames[max_running];

    static running &here()
    {
        static thread_local std::unique_ptr<running> mine;
        if (!mine)
            mine.reset(new running);
        return *mine;
    }
};

class timer : public virtual Performance::Timer {
public:
    timer(std::string name, std::string type, long group, bool phase = false)
        : name_(new std::string(std::move(name))), type_(std::move(type)), group_(group), phase_(phase)
    {
    }
    ~timer() override { delete name_.load(); }

    void start() override
    {
        if (!groups::on(group_.load(std::memory_order_relaxed)))
            return;
        running &r = running::here();
        if (r.depth == max_running) {
            r.beyond++;
            return;
        }
        running::frame &f = r.frames[r.depth];
        f = {this, {}, {}, {0, 0}, true};
        timer *phase = nullptr;
        for (std::size_t i = r.depth; i-- > 0;) {
            f.outermost = f.outermost && r.frames[i].what != this;
            if (!phase && r.frames[i].what->phase_)
                phase = r.frames[i].what;
        }
        if (phase)
            f.also[0] = derived(reinterpret_cast<std::uintptr_t>(phase), [&] { return phase->getName() + " => " + getName(); });
        r.depth++;
        r.context = r.context * 31 + reinterpret_cast<std::uintptr_t>(this);
        marple_region_begin(name_.load(std::memory_order_acquire)->c_str());
        f.begin = reading::now();
    }

    void stop() override
    {
        running &r = running::here();
        if (r.beyond) {
            r.beyond--;
            return;
        }
        std::size_t depth = r.depth;
        while (depth > 0 && r.frames[depth - 1].what != this)
            depth--;
        if (depth == 0)
            return; /* it was off when it should have started */
        reading now = reading::now();
        while (r.depth >= depth)
            r.frames[r.depth - 1].what->pop(r, now);
    }

    void setParam1L(long value, const std::string &name) override
    {
        running &r = running::here();
        if (r.depth == 0 || r.frames[r.depth - 1].what != this)
            return;
        std::string text = " [ <" + name + "=" + std::to_string(value) + "> ]";
        for (timer *&also : r.frames[r.depth - 1].also)
            if (!also) {
                also = derived(std::hash<std::string>()(text), [&] { return getName() + text; });
                return;
            }
    }

    /* A name is kept as long as its timer: it may be in use. */
    void setName(const std::string &name) override
    {
        if (getName() == name)
            return;
        std::lock_guard<std::mutex> lock(naming_);
        old_.emplace_back(name_.exchange(new std::string(name)));
    }
    std::string getName() override { return *name_.load(std::memory_order_acquire); }
    void setType(const std::string &type) override
    {
        std::lock_guard<std::mutex> lock(naming_);
        type_ = type;
    }
    std::string getType() override
    {
        std::lock_guard<std::mutex> lock(naming_);
        return type_;
    }
    void setGroupName(const std::string &group) override { group_ = groups::id(group); }
    std::string getGroupName() override { return groups::names(group_); }
    void setGroupId(long group) override { group_ = group; }
    long getGroupId() override { return group_; }

    struct values {
        std::uint64_t calls, children;
        reading inclusive, exclusive;
    };
    values get() const
    {
        return {calls_, children_, {inclusive_[0], inclusive_[1]}, {exclusive_[0], exclusive_[1]}};
    }
    /* It, and what is derived of it, if they have run. */
    template <class Use> void each(Use use)
    {
        use(*this);
        derived_.each([&](pair &p) { use(*p.what); });
    }

private:
    struct pair {
        std::size_t key;
        std::unique_ptr<timer> what;
    };

    template <class Name> timer *derived(std::size_t key, Name name)
    {
        pair *p = derived_.get(key / 16, [&](const pair &x) { return x.key == key; },
                               [&] { return new pair{key, std::make_unique<timer>(name(), getType(), getGroupId())}; });
        return p ? p->what.get() : nullptr;
    }

    void pop(running &r, const reading &now)
    {
        running::frame &f = r.frames[--r.depth];
        r.context = 0;
        for (std::size_t i = 0; i < r.depth; i++)
            r.context = r.context * 31 + reinterpret_cast<std::uintptr_t>(r.frames[i].what);
        reading all = now - f.begin;
        add(f, all);
        for (timer *also : f.also)
            if (also)
                also->add(f, all);
        if (r.depth > 0) {
            running::frame &outer = r.frames[r.depth - 1];
            outer.children += all;
            outer.what->children_++;
            for (timer *also : outer.also)
                if (also)
                    also->children_++;
        }
        marple_region_end(name_.load(std::memory_order_acquire)->c_str());
    }

    void add(const running::frame &f, const reading &all)
    {
        reading own = all - f.children;
        calls_++;
        exclusive_[0] += own.wall;
        exclusive_[1] += own.mpi;
        if (f.outermost) {
            inclusive_[0] += all.wall;
            inclusive_[1] += all.mpi;
        }
    }

    std::atomic<std::string *> name_;
    std::mutex naming_;
    std::vector<std::unique_ptr<std::string>> old_;
    std::string type_;
    std::atomic<long> group_;
    const bool phase_;
    std::atomic<std::uint64_t> calls_{0}, children_{0}, inclusive_[2] = {{0}, {0}}, exclusive_[2] = {{0}, {0}};
    std::unique_ptr<table<pair, max_derived>> table_{new table<pair, max_derived>};
    table<pair, max_derived> &derived_ = *table_;
};

class phase : public timer, public Performance::Phase {
public:
    phase(std::string name, std::string type, long group) : timer(std::move(name), std::move(type), group, true) {}
};

/* An event; and, with contexts, one more for each stack of timers. */
class event : public Performance::Event, public Performance::ContextEvent {
public:
    event(std::string name, bool contexts) : name_(std::move(name)), contexts_(contexts) {}

    void setName(const std::string &name) override
    {
        std::lock_guard<std::mutex> lock(naming_);
        name_ = name;
    }
    void enable() override { contexts_ = true; }
    void disable() override { contexts_ = false; }

    void trigger(double value) override
    {
        all_.add(value);
        running &r = running::here();
        if (!contexts_.load(std::memory_order_relaxed) || r.depth == 0)
            return;
        context *c = table_->get(r.context / 16, [&](const context &x) { return x.key == r.context; }, [&] {
            auto made = std::make_unique<context>();
            made->key = r.context;
            for (std::size_t i = 0; i < r.depth; i++)
                made->path += (i ? " => " : "") + r.frames[i].what->getName();
            return made.release();
        });
        if (c)
            c->values.add(value);
    }

    template <class Use> void each(Use use)
    {
        std::string name;
        {
            std::lock_guard<std::mutex> lock(naming_);
            name = name_;
        }
        use(name, all_.get());
        table_->each([&](const context &c) { use(name + " : " + c.path, c.values.get()); });
    }

private:
    struct context {
        std::size_t key;
        std::string path;
        statistics values;
    };
    std::mutex naming_;
    std::string name_;
    std::atomic<bool> contexts_;
    statistics all_;
    std::unique_ptr<table<context, max_derived>> table_{new table<context, max_derived>};
};

/* Kilobytes that the process has from malloc. */
inline double allocated()
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 m = mallinfo2();
    return static_cast<double>(m.uordblks + m.hblkhd) / 1024;
#else
    struct mallinfo m = mallinfo(); /* wraps at 4 GiB */
    return (static_cast<double>(static_cast<unsigned>(m.uordblks)) + static_cast<unsigned>(m.hblkhd)) / 1024;
#endif
}

/* Megabytes that it could still have: of the machine's, its control group's and its own limits, the nearest. */
inline double headroom()
{
    auto number = [](const std::string &file, const char *format) {
        unsigned long long value = ~0ull;
        char line[256];
        FILE *f = std::fopen(file.c_str(), "r");
        while (f && std::fgets(line, sizeof line, f) && std::sscanf(line, format, &value) != 1)
            ;
        if (f)
            std::fclose(f);
        return value == ~0ull ? std::numeric_limits<double>::infinity() : static_cast<double>(value);
    };
    double left = number("/proc/meminfo", "MemAvailable: %llu") * 1024;
    rlimit limit;
    double pages = number("/proc/self/statm", "%llu");
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        left = std::min(left, static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
    char group[256] = "";
    if (FILE *f = std::fopen("/proc/self/cgroup", "r")) {
        if (std::fscanf(f, "0::%255s", group) != 1)
            group[0] = 0;
        std::fclose(f);
    }
    for (std::string at = std::string("/sys/fs/cgroup") + group; at.size() >= sizeof "/sys/fs/cgroup" - 1; at.resize(at.rfind('/')))
        left = std::min(left, number(at + "/memory.max", "%llu") - number(at + "/memory.current", "%llu"));
    return std::max(left, 0.) / (1024 * 1024);
}

/* Triggers an event with what `measure` says, now or every so often in a thread of its own. */
class tracker : public Performance::MemoryHeadroomTracker {
public:
    tracker(event &what, double (*measure)()) : event_(what), measure_(measure) {}
    ~tracker() override
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        if (thread_.joinable())
            thread_.join();
    }
    void trackHere() override
    {
        if (enabled_)
            event_.trigger(measure_());
    }
    void enable() override { enabled_ = true; }
    void disable() override { enabled_ = false; }
    void setInterruptInterval(int seconds) override
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            interval_ = std::chrono::seconds(std::max(seconds, 1));
        }
        changed_.notify_all();
    }
    void enableInterruptTracking() override
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (thread_.joinable())
            return;
        sigset_t all, before; /* signals are for the program's threads */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        thread_ = std::thread([this] { track(); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

private:
    void track()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        auto last = std::chrono::steady_clock::now();
        while (!ending_) {
            if (changed_.wait_until(lock, last + interval_) == std::cv_status::timeout) {
                trackHere();
                last = std::chrono::steady_clock::now();
            }
        }
    }
    event &event_;
    double (*const measure_)();
    std::atomic<bool> enabled_{true};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::chrono::seconds interval_{10};
    bool ending_ = false;
    std::thread thread_;
};

/* TAU's measurement component: provides "MeasurementPort", of type Performance.Measurement. */
class Tau : public classic::gov::cca::Component,
            public Performance::Measurement,
            public Performance::Query,
            public Performance::Control {
public:
    void setServices(classic::gov::cca::Services *services) override
    {
        if (services)
            services->addProvidesPort(static_cast<Performance::Measurement *>(this), "MeasurementPort", "Performance.Measurement");
    }

    Performance::Timer *createTimer() override { return createTimerWithName(""); }
    Performance::Timer *createTimerWithName(const std::string &name) override { return createTimerWithNameType(name, ""); }
    Performance::Timer *createTimerWithNameType(const std::string &name, const std::string &type) override
    {
        return createTimerWithNameTypeGroup(name, type, "TAU_USER");
    }
    Performance::Timer *createTimerWithNameTypeGroup(const std::string &name, const std::string &type, const std::string &group) override
    {
        return make<timer>(timers_, name, type, group);
    }
    Performance::Phase *createPhase() override { return createPhaseWithName(""); }
    Performance::Phase *createPhaseWithName(const std::string &name) override { return createPhaseWithNameType(name, ""); }
    Performance::Phase *createPhaseWithNameType(const std::string &name, const std::string &type) override
    {
        return createPhaseWithNameTypeGroup(name, type, "TAU_USER");
    }
    Performance::Phase *createPhaseWithNameTypeGroup(const std::string &name, const std::string &type, const std::string &group) override
    {
        return make<phase>(phases_, name, type, group);
    }
    Performance::Query *createQuery() override { return this; }
    Performance::Control *createControl() override { return this; }
    Performance::Event *createEvent() override { return createEventWithName(""); }
    Performance::Event *createEventWithName(const std::string &name) override { return made(name, false); }
    Performance::ContextEvent *createContextEventWithName(const std::string &name) override { return made(name, true); }
    Performance::MemoryTracker *createMemoryTracker() override
    {
        return tracked("Memory Utilization (heap, in KB)", allocated);
    }
    Performance::MemoryHeadroomTracker *createMemoryHeadroomTracker() override
    {
        return tracked("Memory Headroom Left (in MB)", headroom);
    }

    void enableGroupId(long group) override { groups::set(group, true); }
    void disableGroupId(long group) override { groups::set(group, false); }
    void enableGroupName(const std::string &group) override { groups::set(groups::id(group), true); }
    void disableGroupName(const std::string &group) override { groups::set(groups::id(group), false); }
    void enableAllGroups() override { groups::set(-1, true); }
    void disableAllGroups() override { groups::set(-1, false); }

    void getTimerNames(Names &timers) override
    {
        timers.clear();
        each_timer([&](timer &t) { timers.push_back(t.getName()); });
    }
    void getCounterNames(Names &counters) override { counters = {"P_WALL_CLOCK_TIME", "MPI_TIME"}; }

    void getTimerData(const Names &timers, std::vector<std::vector<double>> &exclusive, std::vector<std::vector<double>> &inclusive,
                      std::vector<int> &calls, std::vector<int> &children, Names &counters, int &count) override
    {
        getCounterNames(counters);
        count = static_cast<int>(counters.size());
        exclusive.assign(timers.size(), {0, 0});
        inclusive.assign(timers.size(), {0, 0});
        calls.assign(timers.size(), 0);
        children.assign(timers.size(), 0);
        each_timer([&](timer &t) {
            std::string name = t.getName();
            for (std::size_t i = 0; i < timers.size(); i++) {
                if (timers[i] != name)
                    continue;
                timer::values v = t.get();
                exclusive[i][0] += micro(v.exclusive.wall);
                exclusive[i][1] += micro(v.exclusive.mpi);
                inclusive[i][0] += micro(v.inclusive.wall);
                inclusive[i][1] += micro(v.inclusive.mpi);
                calls[i] += static_cast<int>(v.calls);
                children[i] += static_cast<int>(v.children);
            }
        });
    }

    void getEventNames(Names &events) override
    {
        events.clear();
        each_event([&](const std::string &name, const statistics::values &) { events.push_back(name); });
    }

    void getEventData(const Names &events, std::vector<int> &samples, std::vector<double> &max, std::vector<double> &min,
                      std::vector<double> &mean, std::vector<double> &squares) override
    {
        samples.assign(events.size(), 0);
        for (auto list : {&max, &min, &mean, &squares})
            list->assign(events.size(), 0);
        each_event([&](const std::string &name, const statistics::values &v) {
            for (std::size_t i = 0; i < events.size(); i++)
                if (events[i] == name) {
                    samples[i] = static_cast<int>(v.count);
                    max[i] = v.max;
                    min[i] = v.min;
                    mean[i] = v.mean;
                    squares[i] = v.squares;
                }
        });
    }

    void getEventDeviations(const Names &events, std::vector<double> &deviations) override
    {
        deviations.assign(events.size(), 0);
        each_event([&](const std::string &name, const statistics::values &v) {
            for (std::size_t i = 0; i < events.size(); i++)
                if (events[i] == name)
                    deviations[i] = v.deviation;
        });
    }

    void dumpProfileData() override { dumpProfileDataPrefix("profile"); }
    void dumpProfileDataPrefix(const std::string &prefix) override
    {
        prefix_ = prefix;
        Names timers;
        getTimerNames(timers);
        profile(prefix, timers);
    }
    void dumpProfileDataIncremental() override
    {
        Names timers;
        getTimerNames(timers);
        profile(prefix_ + "__" + std::to_string(++dumps_), timers);
    }
    void dumpTimerNames() override
    {
        Names timers;
        getTimerNames(timers);
        write_file("dump_functionnames." + node(), [&](FILE *f) {
            std::fprintf(f, "number of functions %zu\n", timers.size());
            for (const std::string &name : timers)
                std::fprintf(f, "%s\n", name.c_str());
        });
    }
    void dumpTimerData(const Names &timers) override { profile("dump", timers); }
    void dumpTimerDataIncremental(const Names &timers) override { profile("dump__" + std::to_string(++dumps_), timers); }

private:
    static double micro(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }
    static std::string node() { return std::to_string(place().first) + ".0.0"; }

    template <class Made> Made *make(std::vector<std::unique_ptr<Made>> &list, std::string name, const std::string &type, const std::string &group)
    {
        std::lock_guard<std::mutex> lock(making_);
        if (list.size() == max_timers)
            return list.back().get();
        if (list.size() == max_timers - 1)
            name = "(further timers)";
        long id = groups::id(group);
        for (auto &there : list)
            if (!name.empty() && there->getName() == name && there->getType() == type && there->getGroupId() == id)
                return there.get();
        list.push_back(std::make_unique<Made>(name, type, id));
        return list.back().get();
    }
    event *made(std::string name, bool contexts)
    {
        std::lock_guard<std::mutex> lock(making_);
        if (events_.size() == max_timers)
            return events_.back().get();
        if (events_.size() == max_timers - 1)
            name = "(further events)";
        events_.push_back(std::make_unique<event>(name, contexts));
        return events_.back().get();
    }
    tracker *tracked(const char *name, double (*measure)())
    {
        event *what = made(name, false);
        std::lock_guard<std::mutex> lock(making_);
        trackers_.push_back(std::make_unique<tracker>(*what, measure));
        return trackers_.back().get();
    }
    template <class Use> void each_timer(Use use)
    {
        std::lock_guard<std::mutex> lock(making_);
        for (auto &t : timers_)
            t->each(use);
        for (auto &p : phases_)
            p->each(use);
    }
    template <class Use> void each_event(Use use)
    {
        std::lock_guard<std::mutex> lock(making_);
        for (auto &e : events_)
            e->each(use);
    }

    /* In TAU's format. The root is the program, from the making of this component on. */
    void profile(const std::string &prefix, const Names &timers)
    {
        std::vector<std::vector<double>> exclusive, inclusive;
        std::vector<int> calls, children;
        Names counters;
        int count;
        getTimerData(timers, exclusive, inclusive, calls, children, counters, count);
        write_file(prefix + "." + node(), [&](FILE *f) {
            double all = micro((reading::now() - begin_).wall);
            std::fprintf(f, "%zu templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # <metadata><attribute>"
                            "<name>Metric Name</name><value>TIME</value></attribute></metadata>\n", timers.size() + 1);
            double own = all;
            for (const auto &row : exclusive)
                own -= row[0];
            std::fprintf(f, "\".TAU application\" 1 %zu %.0f %.0f 0 GROUP=\"TAU_USER\"\n", timers.size(), std::max(own, 0.), all);
            for (std::size_t i = 0; i < timers.size(); i++)
                std::fprintf(f, "\"%s\" %d %d %.16G %.16G 0 GROUP=\"TAU_USER\"\n", quoted(timers[i]).c_str(), calls[i], children[i],
                             exclusive[i][0], inclusive[i][0]);
            std::fprintf(f, "0 aggregates\n");
            std::size_t events = 0;
            each_event([&](const std::string &, const statistics::values &v) { events += v.count > 0; });
            if (events)
                std::fprintf(f, "%zu userevents\n# eventname numevents max min mean sumsqr\n", events);
            each_event([&](const std::string &name, const statistics::values &v) {
                if (v.count)
                    std::fprintf(f, "\"%s\" %.16G %.16G %.16G %.16G %.16G\n", quoted(name).c_str(), static_cast<double>(v.count), v.max,
                                 v.min, v.mean, v.squares);
            });
        });
    }
    static std::string quoted(std::string name)
    {
        for (char &c : name)
            if (c == '"' || c == '\n')
                c = '\'';
        return name;
    }

    std::mutex making_;
    std::vector<std::unique_ptr<timer>> timers_;
    std::vector<std::unique_ptr<phase>> phases_;
    std::vector<std::unique_ptr<event>> events_;
    std::vector<std::unique_ptr<tracker>> trackers_; /* before the events that they trigger */
    std::string prefix_ = "profile";
    std::atomic<int> dumps_{0};
    const reading begin_ = reading::now();
};

/* A method that is monitored, with the first of its invocations. */
class record {
public:
    explicit record(const std::string &name) : name(name), component_(name), method_()
    {
        std::size_t bracket = name.find('('), colons = name.rfind("::", bracket), dot = name.rfind('.', bracket);
        if (colons != std::string::npos) {
            component_ = name.substr(0, colons);
            method_ = name.substr(colons + 2);
        } else if (dot != std::string::npos) {
            component_ = name.substr(0, dot);
            method_ = name.substr(dot + 1);
        }
        method_.resize(std::min(method_.find('('), method_.size()));
        hook = {component_.c_str(), method_.c_str(), nullptr, 0, 0};
    }
    ~record()
    {
        for (auto &block : blocks_)
            delete[] block.load();
        for (auto &parameter : parameters_)
            std::free(parameter.load());
    }

    struct row {
        reading spent;
        double values[max_parameters]; /* NaN: it has none of this name */
        std::atomic<bool> complete{false};
    };

    /* The place of a parameter of this name; max_parameters: there is none left. */
    std::size_t parameter(const std::string &wanted)
    {
        for (std::size_t i = 0; i < max_parameters; i++) {
            char *there = parameters_[i].load(std::memory_order_acquire);
            if (!there) {
                char *mine = strdup(wanted.c_str());
                if (mine && parameters_[i].compare_exchange_strong(there, mine))
                    return i;
                std::free(mine);
            }
            if (there && wanted == there)
                return i;
        }
        return max_parameters;
    }
    const char *parameter(std::size_t i) const { return parameters_[i].load(std::memory_order_acquire); }

    void add(const row &wanted)
    {
        std::size_t i = used_.fetch_add(1);
        if (i >= max_rows)
            return;
        auto &slot = blocks_[i / block];
        row *rows = slot.load(std::memory_order_acquire);
        if (!rows) {
            row *made = new row[block];
            if (slot.compare_exchange_strong(rows, made))
                rows = made;
            else
                delete[] made;
        }
        row &r = rows[i % block];
        r.spent = wanted.spent;
        std::copy(std::begin(wanted.values), std::end(wanted.values), r.values);
        r.complete.store(true, std::memory_order_release);
    }
    template <class Use> void each(Use use) const
    {
        for (std::size_t i = 0; i < std::min(used_.load(), max_rows); i++) {
            const row *rows = blocks_[i / block].load(std::memory_order_acquire);
            if (rows && rows[i % block].complete.load(std::memory_order_acquire))
                use(rows[i % block]);
        }
    }
    /* Not while its method runs. */
    void reset()
    {
        used_ = 0;
        for (auto &slot : blocks_)
            delete[] slot.exchange(nullptr);
    }
    std::size_t lost() const { return used_.load() > max_rows ? used_.load() - max_rows : 0; }
    bool empty() const { return used_.load() == 0; }
    std::string file() const { return method_.empty() ? component_ + ".csv" : component_ + "." + method_ + ".csv"; }

    const std::string name;
    marple_method hook;
    std::string file_name; /* empty: file() */

private:
    static constexpr std::size_t block = 1024;
    std::string component_, method_;
    std::atomic<char *> parameters_[max_parameters] = {};
    std::atomic<std::size_t> used_{0};
    std::atomic<row *> blocks_[max_rows / block] = {};
};

/*
 * The Mastermind: provides "MonitorPort", of type Performance.Monitor, and "PerfParamPort". Of each method it keeps
 * the invocations, for PerfParam and for its files, which are written at the end; the run has them all.
 */
class Mastermind : public classic::gov::cca::Component, public Performance::Monitor, public Performance::PerfParam {
public:
    void setServices(classic::gov::cca::Services *services) override
    {
        place(); /* while MPI can be asked */
        if (services) {
            services->addProvidesPort(static_cast<Performance::Monitor *>(this), "MonitorPort", "Performance.Monitor");
            services->addProvidesPort(static_cast<Performance::PerfParam *>(this), "PerfParamPort", "Performance.PerfParam");
        } else {
            records_->each([](const record &r) {
                if (!r.empty())
                    dump(r, r.file_name.empty() ? r.file() : r.file_name);
            });
        }
    }

    void startMonitoring(const std::string &rname) override { start(rname, nullptr, nullptr); }
    void startMonitoring(const std::string &rname, const std::vector<std::string> &names, const std::vector<double> &values) override
    {
        start(rname, &names, &values);
    }
    void stopMonitoring(const std::string &rname) override { stop(rname, nullptr, nullptr); }
    void stopMonitoring(const std::string &rname, const std::vector<std::string> &names, const std::vector<double> &values) override
    {
        stop(rname, &names, &values);
    }
    void setMonitoring(const std::string &rname, bool on) override
    {
        if (record *r = find(rname))
            r->hook.off = !on;
    }
    void setFileName(const std::string &rname, const std::string &fname) override
    {
        if (record *r = find(rname))
            r->file_name = fname;
    }
    void dumpData(const std::string &rname) override
    {
        if (record *r = find(rname))
            dump(*r, r->file_name.empty() ? r->file() : r->file_name);
    }
    void dumpDataFileName(const std::string &rname, const std::string &fname) override
    {
        if (record *r = find(rname))
            dump(*r, fname);
    }
    void destroyRecord(const std::string &rname) override
    {
        if (record *r = find(rname))
            r->reset();
    }

    int getPerformanceData(const std::string &rname, std::vector<std::vector<double>> &data, bool reset) override
    {
        data.clear();
        record *r = find(rname);
        if (!r || r->empty())
            return -1;
        std::size_t parameters = 0;
        while (parameters < max_parameters && r->parameter(parameters))
            parameters++;
        r->each([&](const record::row &row) {
            data.push_back({seconds(row.spent.wall), seconds(row.spent.mpi), seconds(row.spent.wall - row.spent.mpi)});
            data.back().insert(data.back().end(), row.values, row.values + parameters);
        });
        if (reset)
            r->reset();
        return 0;
    }
    int getCompMethNames(std::vector<std::string> &names) override
    {
        names.clear();
        records_->each([&](const record &r) {
            if (!r.empty())
                names.push_back(r.name);
        });
        return static_cast<int>(names.size());
    }

private:
    struct open {
        record *what;
        marple_invocation call;
        reading begin;
        record::row row;
    };
    struct stack {
        std::size_t depth = 0, beyond = 0;
        open calls[max_running];
        static stack &here()
        {
            static thread_local std::unique_ptr<stack> mine;
            if (!mine)
                mine.reset(new stack);
            return *mine;
        }
    };
    static double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

    record *find(const std::string &rname)
    {
        return records_->get(std::hash<std::string>()(rname), [&](const record &r) { return r.name == rname; },
                             [&] { return new record(rname); });
    }

    static void note(open &o, const std::vector<std::string> *names, const std::vector<double> *values)
    {
        for (std::size_t i = 0; names && i < std::min(names->size(), values->size()); i++) {
            std::size_t at = o.what->parameter((*names)[i]);
            if (at == max_parameters)
                continue;
            const double value = (*values)[i];
            o.row.values[at] = value;
            if (value >= -max_exact && value <= max_exact && value == std::trunc(value))
                marple_integer(&o.call, o.what->parameter(at), static_cast<std::int64_t>(value));
            else
                marple_real(&o.call, o.what->parameter(at), value);
        }
    }

    void start(const std::string &rname, const std::vector<std::string> *names, const std::vector<double> *values)
    {
        stack &s = stack::here();
        if (s.depth == max_running || s.beyond) {
            s.beyond++;
            return;
        }
        record *r = find(rname);
        if (!r || __atomic_load_n(&r->hook.off, __ATOMIC_RELAXED))
            return;
        open &o = s.calls[s.depth++];
        o.what = r;
        std::fill(std::begin(o.row.values), std::end(o.row.values), std::numeric_limits<double>::quiet_NaN());
        marple_invocation_begin(&o.call, &r->hook, nullptr);
        note(o, names, values);
        o.begin = reading::now();
    }

    /* What is open inside was left by an exception, and ends with it. */
    void stop(const std::string &rname, const std::vector<std::string> *names, const std::vector<double> *values)
    {
        stack &s = stack::here();
        if (s.beyond) {
            s.beyond--;
            return;
        }
        std::size_t depth = s.depth;
        while (depth > 0 && s.calls[depth - 1].what->name != rname)
            depth--;
        if (depth == 0)
            return; /* it was not monitored when it began */
        while (s.depth >= depth) {
            open &o = s.calls[--s.depth];
            if (s.depth + 1 == depth)
                note(o, names, values);
            marple_invocation_end(&o.call); /* which finds out for how long there was no core */
            o.row.spent = reading::now() - o.begin;
            o.what->add(o.row);
        }
    }

    static void dump(const record &r, const std::string &file)
    {
        auto [rank, ranks] = place();
        write_file(ranks > 1 ? file + "." + std::to_string(rank) : file, [&](FILE *f) {
            for (std::size_t i = 0; i < max_parameters && r.parameter(i); i++)
                std::fprintf(f, "%s,", r.parameter(i));
            std::fprintf(f, "wall,mpi,compute\n");
            r.each([&](const record::row &row) {
                for (std::size_t i = 0; i < max_parameters && r.parameter(i); i++) {
                    if (!std::isnan(row.values[i]))
                        std::fprintf(f, "%.17g", row.values[i]);
                    std::fprintf(f, ",");
                }
                std::fprintf(f, "%.9f,%.9f,%.9f\n", seconds(row.spent.wall), seconds(row.spent.mpi), seconds(row.spent.wall - row.spent.mpi));
            });
        });
        if (r.lost())
            std::fprintf(stderr, "marple: %s keeps the first %zu invocations of %s; %zu more are in the run's records only\n", file.c_str(),
                         max_rows, r.name.c_str(), r.lost());
    }

    std::unique_ptr<table<record, max_records>> records_{new table<record, max_records>};
};

/* What tells a Monitor port of a call, from here to the end of the scope; see marple::invocation. */
class monitored {
public:
    struct method {
        Performance::Monitor *monitor; /* NULL: nobody wants to know */
        const std::string &name;
    };
    explicit monitored(method m) : method_(m)
    {
        if (method_.monitor)
            method_.monitor->startMonitoring(method_.name);
    }
    ~monitored()
    {
        try {
            if (method_.monitor)
                method_.monitor->stopMonitoring(method_.name, names_, values_);
        } catch (...) { /* the call has its result */
        }
    }
    monitored(const monitored &) = delete;
    monitored &operator=(const monitored &) = delete;

    template <class T> void parameter(const char *name, T value)
    {
        if (!method_.monitor)
            return;
        names_.push_back(name);
        values_.push_back(static_cast<double>(value));
    }

private:
    const method method_;
    std::vector<std::string> names_;
    std::vector<double> values_;
};

/* The methods of a proxy that tells a Monitor port of each call as soon as it is connected; see marple::methods. */
template <std::size_t N> class monitored_methods {
public:
    monitored_methods(const std::string &component, const std::string &instance, const char *const (&names)[N]) : names_(names)
    {
        for (std::size_t i = 0; i < N; i++)
            records_[i] = (instance.empty() ? component : component + "[" + instance + "]") + "::" + names[i];
    }
    /* How to find the port. */
    void use(Performance::Monitor *(*find)(void *), void *context) noexcept
    {
        find_ = find;
        context_ = context;
    }
    monitored::method operator[](std::size_t i) const { return {port(), records_[i]}; }
    constexpr std::size_t size() const noexcept { return N; }
    const char *name(std::size_t i) const noexcept { return names_[i]; }

    /* Whether the invocations of a method are recorded; of an overloaded one the name has its arguments. */
    bool monitor(const std::string &name, bool on)
    {
        for (std::size_t i = 0; i < N; i++)
            if (port() && name == names_[i]) {
                port()->setMonitoring(records_[i], on);
                return true;
            }
        return false;
    }

private:
    Performance::Monitor *port() const
    {
        Performance::Monitor *found = monitor_.load(std::memory_order_acquire);
        if (!found && find_ && (found = find_(context_)))
            monitor_.store(found, std::memory_order_release);
        return found;
    }

    const char *const *names_;
    std::string records_[N];
    Performance::Monitor *(*find_)(void *) = nullptr;
    void *context_ = nullptr;
    mutable std::atomic<Performance::Monitor *> monitor_{nullptr};
};

template <class Proxy, class = void> struct is_monitored : std::false_type {};
template <class Proxy>
struct is_monitored<Proxy, std::void_t<decltype(std::declval<Proxy &>().marple_methods().use(nullptr, nullptr))>> : std::true_type {};

/* The type of a port as components name it: the class's own `type`, if it has one. */
template <class Port, class = void> struct type_name {
    static std::string of(const char *otherwise) { return otherwise; }
};
template <class Port> struct type_name<Port, std::enable_if_t<std::is_convertible_v<decltype(Port::type), std::string>>> {
    static std::string of(const char *) { return Port::type; }
};
template <class Port> std::string type_of(const char *otherwise) { return type_name<Port>::of(otherwise); }

/*
 * A proxy as a component: it provides a port and uses the same port of what it stands before, both under the name
 * that the component gives it; the uses port has "_proxied" after it. Proxy is made by marple proxygen; one that tells
 * a Monitor port of each call has that as another port that it uses.
 */
template <class Port, class Proxy> class Proxied : public classic::gov::cca::Component {
public:
    Proxied(const std::string &name, const std::string &type, const std::string &component = "")
        : name_(name), type_(type),
          proxy_(target<Port>([](void *self) { return static_cast<Proxied *>(self)->find(); }, this), component.empty() ? type : component)
    {
        if constexpr (is_monitored<Proxy>::value)
            proxy_.marple_methods().use([](void *self) { return static_cast<Proxied *>(self)->monitor(); }, this);
    }
    void setServices(classic::gov::cca::Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        services->addProvidesPort(&proxy_, name_, type_);
        services->registerUsesPort(name_ + "_proxied", type_);
        if (is_monitored<Proxy>::value)
            services->registerUsesPort("MonitorPort", "Performance.Monitor");
    }

private:
    Port *find() { return services_ ? dynamic_cast<Port *>(services_->getPort((name_ + "_proxied").c_str())) : nullptr; }
    Performance::Monitor *monitor()
    {
        return services_ ? dynamic_cast<Performance::Monitor *>(services_->getPort("MonitorPort")) : nullptr;
    }

    const std::string name_, type_;
    classic::gov::cca::Services *services_ = nullptr;
    Proxy proxy_;
};

}
}

#endif
