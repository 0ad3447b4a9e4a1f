/*
 * Exchanges the implementations of a running assembly: what a proxy that `marple proxygen --family` writes has in
 * it. It holds all implementations of a family behind one port, and asks a policy which of them serves:
 *
 *     fixed:NAME  this one
 *     model       the one whose model predicts the least time of the call; what is not above 0 is no prediction
 *     trial       the one that has taken least time so far; others are tried again now and then, and one that has thrown
 *                 only when times have changed or all have thrown
 *     rules       the one that rules choose, with settings: see marple_rules.hpp
 *
 * Where implementations have state, one of them serves until a quiet point (see family::quiet); without state, each
 * call is served by its own. Nothing is allocated in a call, and no thread waits for another one.
 */
#ifndef MARPLE_OPTIMIZER_HPP
#define MARPLE_OPTIMIZER_HPP

#include "marple_rules.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace marple {

/* A component whose state can go on in another implementation of its family. What the text says is theirs to agree. */
class migratable {
public:
    virtual ~migratable() = default;
    virtual std::string export_state() = 0;
    virtual void import_state(const std::string &state) = 0;
};

/*
 * A bandit: which of N arms takes least time, of those that are allowed. It takes the arm of the least lower
 * confidence bound of log time (UCB1: Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002), tries others again as
 * long as that costs at most `share` of all time, and forgets what it knows when the times of an arm change (two-sided
 * CUSUM: Page, Biometrika 41, 1954). An arm that fails is left at once, as long as there is one that has not, until the
 * times of an arm change. Its arithmetic is only what IEEE 754 rounds alike everywhere: the same times make the same
 * choices, on every rank.
 */
template <std::size_t N> class bandit {
public:
    static constexpr double share = 0.02;  /* of all time: what trying others again may cost */
    static constexpr int pause = 16;       /* calls at least from one such trial to the next */
    static constexpr int first = 2;        /* calls of each arm before they are compared */
    static constexpr double least = 0.02;  /* deviations of the logarithm below this one are not believed */
    static constexpr double changed = 8;   /* CUSUM, in deviations beyond half a one: times are others from here on */
    static constexpr double most = 1e15;   /* nanoseconds: what takes longer counts as this */

    void allow(const bool (&allowed)[N]) noexcept
    {
        for (std::size_t i = N; i-- > 0;)
            if ((arms_[i].allowed = allowed[i]))
                next_.store(static_cast<unsigned>(i), std::memory_order_relaxed);
    }
    std::size_t next() const noexcept { return next_.load(std::memory_order_relaxed); }

    /* An arm has taken so many nanoseconds. What two threads tell at once is heard of one of them. */
    void tell(std::size_t which, double ns) noexcept
    {
        if (busy_.test_and_set(std::memory_order_acquire))
            return;
        ns = ns >= 1 ? ns < most ? ns : most : 1;
        const std::size_t best = fastest();
        total_ += ns;
        if (which == trial_ && ns > arms_[best].time)
            excess_ += ns - arms_[best].time;
        trial_ = N;
        learn(which, best, logarithm(ns));
        next_.store(static_cast<unsigned>(decide()), std::memory_order_relaxed);
        busy_.clear(std::memory_order_release);
    }

    /*
     * An arm has failed, whatever time it took. When all have, the others are tried again. Beside a thread that tells, it
     * is left when the next one tells.
     */
    void fail(std::size_t which) noexcept
    {
        arms_[which].failed.store(true, std::memory_order_relaxed);
        if (busy_.test_and_set(std::memory_order_acquire))
            return;
        bool other = false, all = true;
        for (std::size_t i = 0; i < N; i++) {
            other = other || (i != which && arms_[i].allowed);
            all = all && !usable(i);
        }
        if (all)
            forgive(other ? which : N);
        trial_ = N;
        next_.store(static_cast<unsigned>(decide()), std::memory_order_relaxed);
        busy_.clear(std::memory_order_release);
    }

private:
    struct arm {
        bool allowed = false;
        std::atomic<bool> failed{false};
        double mean = 0, time = 0; /* of the logarithm; as nanoseconds */
        double up = 0, down = 0;   /* CUSUM */
        std::uint64_t count = 0, at = 0;
    };

    /* To base 2, linear between powers: exact, monotonous, and at most 0.09 from the true one. */
    static double logarithm(double x) noexcept
    {
        int exponent;
        const double part = std::frexp(x, &exponent);
        return exponent + 2 * part - 2;
    }
    static double power(double x) noexcept
    {
        const double whole = std::floor(x);
        return std::ldexp(1 + (x - whole), static_cast<int>(whole));
    }
    bool usable(std::size_t i) const noexcept { return arms_[i].allowed && !arms_[i].failed.load(std::memory_order_relaxed); }
    void forgive(std::size_t but) noexcept
    {
        for (std::size_t i = 0; i < N; i++)
            if (i != but)
                arms_[i].failed.store(false, std::memory_order_relaxed);
    }
    double deviation() const noexcept { return std::sqrt(variance_ > least * least ? variance_ : least * least); }

    std::size_t fastest() const noexcept
    {
        std::size_t best = N;
        for (std::size_t i = 0; i < N; i++)
            if (usable(i) && (best == N || (arms_[i].count && (!arms_[best].count || arms_[i].mean < arms_[best].mean))))
                best = i;
        return best == N ? 0 : best;
    }

    void learn(std::size_t which, std::size_t best, double x) noexcept
    {
        arm &a = arms_[which];
        a.at = ++told_;
        if (a.count) {
            const double s = deviation();
            double z = (x - a.mean) / s;
            if (told_ > 4 * N) { /* the deviation is known */
                z = z < -4 ? -4 : z > 4 ? 4 : z;
                a.up = a.up + z - 0.5 > 0 ? a.up + z - 0.5 : 0;
                a.down = a.down - z - 0.5 > 0 ? a.down - z - 0.5 : 0;
                if (a.up > changed || a.down > changed) { /* of the best arm: all may have */
                    for (std::size_t i = 0; i < N; i++)
                        if (i == which || which == best) {
                            arms_[i].count = 0;
                            arms_[i].up = arms_[i].down = 0;
                        }
                    forgive(N);
                }
            }
            residuals_ += residuals_ < 64;
            variance_ += (z * z * s * s - variance_) / residuals_;
        }
        a.count++;
        a.mean = a.count == 1 ? x : a.mean + (x - a.mean) / static_cast<double>(a.count < 256 ? a.count : 256);
        a.time = power(a.mean);
    }

    std::size_t decide() noexcept
    {
        std::uint64_t pulls = 0;
        for (std::size_t i = 0; i < N; i++) {
            if (usable(i) && arms_[i].count < first)
                return i;
            pulls += arms_[i].count;
        }
        const std::size_t best = fastest();
        const double s = deviation(), far = 2 * 0.6931 * logarithm(static_cast<double>(pulls + 1));
        std::size_t taken = N, oldest = N;
        double bound = 0;
        for (std::size_t i = 0; i < N; i++) {
            const arm &a = arms_[i];
            if (!usable(i) || !a.count)
                continue;
            const double lower = a.mean - s * std::sqrt(far / static_cast<double>(a.count));
            if (taken == N || lower < bound) {
                bound = lower;
                taken = i;
            }
            if (i != best && (oldest == N || a.at < arms_[oldest].at) && excess_ + a.time - arms_[best].time <= share * total_)
                oldest = i;
        }
        if (oldest != N && told_ >= tried_ + pause) {
            tried_ = told_;
            return trial_ = oldest;
        }
        return taken == N ? best : taken;
    }

    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    std::atomic<unsigned> next_{0};
    arm arms_[N];
    double variance_ = 0, residuals_ = 0; /* of the logarithm, of all arms together */
    double total_ = 0, excess_ = 0;       /* nanoseconds: of all calls, and what trials took more than the best arm would */
    std::uint64_t told_ = 0, tried_ = 0;
    std::size_t trial_ = N; /* the arm that is being tried again */
};

/*
 * Bandits by size: calls whose parameters are of the same sizes share one. When the table is full, all further sizes
 * share the last one.
 */
template <std::size_t N> class bandits {
public:
    static constexpr std::size_t sizes = 64;

    void allow(const bool (&allowed)[N]) noexcept
    {
        for (bandit<N> &b : list_)
            b.allow(allowed);
    }
    /* Sign and power of two; all numbers below 1 are one size, and infinite ones and such as are none count as these. */
    static std::uint64_t size(double x) noexcept
    {
        std::uint64_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        const std::uint64_t exponent = bits >> 52 & 2047;
        return exponent < 1023 || exponent == 2047 ? 0 : (bits >> 52) - 1022;
    }
    bandit<N> &of(const double *x, std::size_t count) noexcept
    {
        std::uint64_t key = 1;
        for (std::size_t i = 0; i < count; i++)
            key = key * 0x9e3779b97f4a7c15u + size(x[i]);
        key += key == 0; /* which is no key */
        std::uint64_t at = key ^ key >> 32;
        for (std::size_t tries = 0; tries < sizes; tries++, at++) {
            std::atomic<std::uint64_t> &there = keys_[at % sizes];
            std::uint64_t found = there.load(std::memory_order_relaxed);
            if (found == key || (found == 0 && (there.compare_exchange_strong(found, key) || found == key)))
                return list_[at % sizes];
        }
        return list_[sizes];
    }

private:
    std::atomic<std::uint64_t> keys_[sizes] = {};
    bandit<N> list_[sizes + 1];
};

/* The N implementations of a family behind a port, and who of them serves a call of one of its M methods. */
template <class Port, std::size_t N, std::size_t M> class family {
public:
    /* Nanoseconds that each implementation is predicted to take for a call with these parameters; false: not known. */
    using predictor = bool (*)(std::size_t method, const double *parameters, double *ns);

    /* What an implementation must not serve for is in `barred`, or NULL. All texts must outlive the family. */
    family(const char *name, const char *const (&names)[N], const char *const (&barred)[N], const target<Port> (&targets)[N],
           predictor predict, bool stateless, const std::string &policy, const rules *managed = nullptr)
        : family(name, names, barred, targets, predict, stateless, policy, managed, std::make_index_sequence<N>())
    {
    }
    family(const family &) = delete;
    family &operator=(const family &) = delete;

    /*
     * Takes another policy: fixed:NAME, model, trial or rules. No call may be under way, on any thread. Where implementations
     * have state it counts from the next quiet point on, and must be the same on all ranks that agree. Throws
     * std::invalid_argument.
     */
    void policy(const std::string &text)
    {
        if (text == "trial") {
            kind_ = trial;
        } else if (text == "rules" && manager_) {
            kind_ = ruled;
            manager_->reset();
            checked_ = false; /* whether state can move, for rules that say so */
        } else if (text == "rules") {
            throw std::invalid_argument(std::string("family ") + name_ + ": policy rules: the proxy was written without rules; write it with --rules FILE");
        } else if (text == "model" && predict_) {
            kind_ = model;
        } else if (text == "model") {
            throw std::invalid_argument(std::string("family ") + name_ + ": policy model: the proxy was written without models; write it with --policy model");
        } else {
            std::size_t i = 0;
            while (i < N && text != std::string("fixed:") + names_[i])
                i++;
            if (i == N)
                throw std::invalid_argument(std::string("family ") + name_ + ": policy " + text + ": expected model, trial" + (manager_ ? ", rules" : "") + fixed_names());
            if (barred_[i])
                throw std::invalid_argument(std::string("family ") + name_ + ": policy " + text + ": " + barred_[i]);
            fixed_ = i;
            if (stateless_)
                current_ = i;
            kind_ = fixed;
        }
        declaration_ = std::string("exchanged: {") + name_ + ": {policies: [\"" + text + "\"], implementations: [";
        for (std::size_t i = 0; i < N; i++)
            declaration_ += std::string(i ? ", \"" : "\"") + names_[i] + '"';
        declaration_ += "]}}";
        declared_ = false;
        anew();
    }

    /* The implementation that serves what is not recorded, and where there is state everything. */
    std::size_t current() const noexcept { return current_; }
    Port &operator[](std::size_t i) const { return targets_[i](); }

    /*
     * Here no call is under way, and all state is the component's own: another implementation may go on, and state that
     * is marple::migratable moves to it. Implementations have no state that matters here if none of them is that; that
     * some are and others are not throws std::logic_error. sum(values, n) adds up n values of type long long over the
     * ranks that have to agree, e.g. by MPI_Allreduce with MPI_LONG_LONG, which all of them get to; its values are
     * integers, whose sum is the same on all ranks in whichever order it is formed.
     */
    template <class Sum> void quiet(Sum sum)
    {
        if (kind_ == ruled)
            return managed(sum);
        if (stateless_)
            return;
        std::size_t next = fixed_;
        if (kind_ != fixed) {
            constexpr std::size_t before = 3; /* of the predictions */
            long long values[before + N] = {calls_, spent_, failed_};
            for (std::size_t i = 0; i < N; i++)
                values[before + i] = at_most(predicted_[i]);
            sum(values, static_cast<int>(before + N));
            next = current_;
            if (kind_ == trial && values[2] > 0) {
                interval_.fail(current_);
                next = interval_.next();
            } else if (kind_ == trial && values[0] > 0) {
                interval_.tell(current_, static_cast<double>(values[1]) / static_cast<double>(values[0]));
                next = interval_.next();
            } else if (kind_ == model) {
                for (std::size_t i = 0; i < N; i++)
                    if (!barred_[i] && values[before + i] < values[before + next])
                        next = i;
            }
        }
        anew();
        move_to(next);
    }

    /* What the component says of its results from now on, for rules that look at it. */
    void tell(const char *name, double value) noexcept
    {
        if (manager_)
            manager_->tell(name, value);
    }

    /* One call: who serves it, from here to the end of the scope. */
    class service {
    public:
        service(family &f, std::size_t method, const double *parameters = nullptr, std::size_t count = 0) : family_(f)
        {
            if (!f.declared_.load(std::memory_order_relaxed))
                f.declare();
            which_ = f.current_.load(std::memory_order_relaxed);
            const int kind = f.kind_.load(std::memory_order_relaxed);
            if (kind == fixed)
                return;
            if (kind == model) {
                which_ = f.predicted(which_, method, parameters);
                return;
            }
            if (kind == ruled) {
                if (!f.manager_->due())
                    return;
                f.look(which_, method, parameters);
                if (!f.manager_->timed())
                    return;
            }
            timed_ = true;
            if (kind == trial && f.stateless_) {
                bandit_ = &f.sized_[method].of(parameters, count);
                which_ = bandit_->next();
            }
            thrown_ = std::uncaught_exceptions();
            by_marple_ = f.now(begin_);
        }
        service(const service &) = delete;
        service &operator=(const service &) = delete;
        ~service()
        {
            if (timed_)
                family_.served(*this);
        }
        operator std::size_t() const noexcept { return which_; }

    private:
        friend class family;
        family &family_;
        bandit<N> *bandit_ = nullptr; /* that is told how it went; with state the family counts that itself */
        std::size_t which_;
        std::uint64_t begin_;
        int thrown_;
        bool timed_ = false, by_marple_;
    };

private:
    enum { fixed, model, trial, ruled };

    template <std::size_t... I>
    family(const char *name, const char *const (&names)[N], const char *const (&barred)[N], const target<Port> (&targets)[N],
           predictor predict, bool stateless, const std::string &text, const rules *managed, std::index_sequence<I...>)
        : name_(name), names_(names), barred_(barred), targets_{targets[I]...}, predict_(predict), stateless_(stateless),
          sized_(stateless ? new bandits<N>[M] : nullptr), manager_(managed ? new manager(name, *managed, N, names) : nullptr)
    {
        const bool allowed[N] = {!barred[I]...};
        interval_.allow(allowed);
        for (std::size_t m = 0; stateless && m < M; m++)
            sized_[m].allow(allowed);
        current_ = interval_.next();
        policy(text);
        if (kind_ == fixed)
            current_ = fixed_;
    }

    std::string fixed_names() const
    {
        std::string list;
        for (std::size_t i = 0; i < N; i++)
            list += std::string(i + 1 < N ? ", fixed:" : " or fixed:") + names_[i];
        return list;
    }

    /* Tells Marple once that the implementations are a family's; before it measures, nobody listens. */
    void declare() noexcept
    {
        marple_totals totals;
        if (marple_find_hooks()->size == 0)
            declared_ = true;
        else if (marple_read_totals(&totals)) {
            declared_ = true;
            marple_families(declaration_.c_str());
            for (std::size_t r = 0; kind_ == ruled && r < manager_->table().count; r++)
                marple_families(manager_->table().list[r].declaration);
        }
    }

    /* On Marple's clock, which leaves its own work out; else the time of day. */
    static bool now(std::uint64_t &ns) noexcept
    {
        marple_totals totals;
        if (marple_read_totals(&totals)) {
            ns = totals.wall;
            return true;
        }
        ns = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
        return false;
    }

    void served(const service &s) noexcept
    {
        std::uint64_t end;
        const bool comparable = now(end) == s.by_marple_ && end >= s.begin_, thrown = std::uncaught_exceptions() > s.thrown_;
        if (kind_ == ruled) {
            if (thrown || comparable)
                manager_->took(s.which_, static_cast<double>(end - s.begin_), thrown);
        } else if (thrown) {
            if (stateless_)
                s.bandit_->fail(s.which_);
            else
                failed_.fetch_add(1, std::memory_order_relaxed);
        } else if (!comparable) {
            return;
        } else if (stateless_) {
            s.bandit_->tell(s.which_, static_cast<double>(end - s.begin_));
        } else {
            calls_.fetch_add(1, std::memory_order_relaxed);
            spent_.fetch_add(static_cast<long long>(end - s.begin_), std::memory_order_relaxed);
        }
    }

    /* Between one quiet point and the next. */
    void anew() noexcept
    {
        calls_ = spent_ = failed_ = 0;
        for (auto &one : predicted_)
            one = 0;
    }

    /*
     * What is predicted on a rank between two quiet points: at most 73 minutes, so that the sum over a million ranks is
     * still a number. What is not known counts as that.
     */
    static constexpr long long most_predicted = 1LL << 42;
    static long long at_most(long long ns) noexcept { return ns < most_predicted ? ns : most_predicted; }
    static bool known(double ns) noexcept { return ns > 0 && ns < std::numeric_limits<double>::infinity(); }

    std::size_t predicted(std::size_t which, std::size_t method, const double *parameters) noexcept
    {
        double ns[N];
        if (!predict_(method, parameters, ns))
            return which;
        if (!stateless_) {
            for (std::size_t i = 0; i < N; i++)
                if (predicted_[i].load(std::memory_order_relaxed) < most_predicted)
                    predicted_[i].fetch_add(known(ns[i]) && ns[i] < most_predicted ? static_cast<long long>(ns[i]) : most_predicted,
                                            std::memory_order_relaxed);
            return which;
        }
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < N; i++)
            if (!barred_[i] && known(ns[i]) && ns[i] < least) {
                least = ns[i];
                which = i;
            }
        return which;
    }

    /* A call that the rules look at. */
    void look(std::size_t &which, std::size_t method, const double *parameters) noexcept
    {
        if (!stateless_)
            return manager_->note(method, parameters);
        const std::size_t next = manager_->look(method, parameters, which);
        if (next != which)
            current_.store(which = next, std::memory_order_relaxed);
    }

    template <class Sum> void managed(Sum sum)
    {
        const std::size_t from = current_, next = stateless_ ? from : manager_->decide(from, sum);
        if (!stateless_)
            move_to(next);
        if (next != from)
            manager_->moved(from, next);
        manager_->settle(next, !stateless_, [this](std::size_t i) { return dynamic_cast<tunable *>(&targets_[i]()); });
    }

    void move_to(std::size_t next)
    {
        if (!checked_) {
            std::size_t with_state = 0;
            for (std::size_t i = 0; i < N; i++)
                with_state += dynamic_cast<migratable *>(&targets_[i]()) != nullptr;
            if (with_state != 0 && with_state != N)
                throw std::logic_error(std::string("family ") + name_ + ": some of its implementations are marple::migratable and others are not");
            for (std::size_t r = 0; manager_ && with_state == 0 && r < manager_->table().count; r++)
                if (kind_ == ruled && manager_->table().list[r].migrate)
                    throw std::logic_error(std::string("family ") + name_ + ": rule " + manager_->table().list[r].name + " migrates, and no implementation is marple::migratable");
            checked_ = true;
        }
        if (next == current_)
            return;
        if (auto *to = dynamic_cast<migratable *>(&targets_[next]()))
            to->import_state(dynamic_cast<migratable &>(targets_[current_]()).export_state());
        current_ = next;
    }

    const char *const name_;
    const char *const (&names_)[N];
    const char *const (&barred_)[N];
    const target<Port> targets_[N];
    const predictor predict_;
    const bool stateless_;
    const std::unique_ptr<bandits<N>[]> sized_; /* by method */
    const std::unique_ptr<manager> manager_;    /* if there are rules */
    std::string declaration_;
    std::atomic<bool> declared_{false};
    std::atomic<int> kind_{fixed};
    std::atomic<std::size_t> current_{0};
    std::size_t fixed_ = 0;
    bool checked_ = false;
    /* Since the last quiet point: */
    bandit<N> interval_;
    std::atomic<long long> calls_{0}, spent_{0}, failed_{0}, predicted_[N] = {};
};

}

#endif
