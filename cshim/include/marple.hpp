/*
 * Marple's annotations for C++17 programs. Objects end with their scope, so that an exception ends them too.
 *
 *     #include <marple.hpp>
 *     static marple::method compute{"States", "compute"};
 *     ...
 *     marple::invocation call{compute};
 *     call.parameter("n", n);
 *     ...
 *     call.quality("accuracy", error);
 *
 * See marple.h for what they cost and where they may be used.
 */
#ifndef MARPLE_HPP
#define MARPLE_HPP

#include "marple.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace marple {

/* Time in this scope belongs to region `name`, which must outlive it. */
class region {
public:
    explicit region(const char *name) noexcept : name_(name) { marple_region_begin(name); }
    ~region() { marple_region_end(name_); }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

private:
    const char *name_;
};

/* A method of a component, or of one instance of it. The names must outlive it. */
class method {
public:
    constexpr method(const char *component, const char *name, const char *instance = nullptr) noexcept
        : method_{component, name, instance, 0, 0}
    {
    }
    method(const method &) = delete;
    method &operator=(const method &) = delete;

    /* Whether its invocations are recorded. */
    void monitor(bool on) noexcept { method_.off = !on; }

private:
    friend class invocation;
    marple_method method_;
};

/* An invocation, from here to the end of the scope. `context` is where the caller says that it is, if anywhere. */
class invocation {
public:
    explicit invocation(method &m, const char *context = nullptr) noexcept
    {
        marple_invocation_begin(&call_, &m.method_, context);
    }
    ~invocation() { marple_invocation_end(&call_); }
    invocation(const invocation &) = delete;
    invocation &operator=(const invocation &) = delete;

    /* A parameter: an integer, an enumerator or a real. `name` must outlive the invocation. */
    template <class T> void parameter(const char *name, T value) noexcept
    {
        if constexpr (std::is_enum_v<T>) {
            parameter(name, static_cast<std::underlying_type_t<T>>(value));
        } else if constexpr (std::is_integral_v<T> && sizeof(T) <= sizeof(std::int64_t)) {
            if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t))
                if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
                    return marple_real(&call_, name, static_cast<double>(value));
            marple_integer(&call_, name, static_cast<std::int64_t>(value));
        } else {
            marple_real(&call_, name, static_cast<double>(value));
        }
    }

    /* A quality of the result, e.g. its accuracy. `name` must outlive the invocation. */
    void quality(const char *name, double value) noexcept { marple_quality(&call_, name, value); }

private:
    marple_invocation call_;
};

/* Declares families of components that can take each other's place; see marple_families. */
inline void families(const char *declaration) noexcept { marple_families(declaration); }

/* The methods of a component, or of an instance of it, as a generated proxy has them. */
template <std::size_t N> class methods {
public:
    methods(const std::string &component, const std::string &instance, const char *const (&names)[N])
        : methods(component, instance, names, std::make_index_sequence<N>())
    {
    }
    method &operator[](std::size_t i) noexcept { return list_[i]; }
    constexpr std::size_t size() const noexcept { return N; }
    const char *name(std::size_t i) const noexcept { return names_[i]; }

    /* Whether the invocations of a method are recorded; of an overloaded one the name has its arguments. */
    bool monitor(const std::string &name, bool on) noexcept
    {
        for (std::size_t i = 0; i < N; i++)
            if (name == names_[i]) {
                list_[i].monitor(on);
                return true;
            }
        return false;
    }

private:
    template <std::size_t... I>
    methods(const std::string &component, const std::string &instance, const char *const (&names)[N], std::index_sequence<I...>)
        : component_(component), instance_(instance), names_(names),
          list_{method(component_.c_str(), names[I], instance_.c_str())...}
    {
    }

    const std::string component_, instance_;
    const char *const *names_;
    method list_[N];
};

/* The component behind a proxy: one that is there already, or one that is looked for when it is first called. */
template <class Port> class target {
public:
    target(Port &port) noexcept : port_(std::addressof(port)) {}
    /* `find` is given the context, and returns NULL if there is none (yet). */
    target(Port *(*find)(void *), void *context) noexcept : find_(find), context_(context) {}

    Port &operator()() const volatile
    {
        if (!port_ && !(port_ = find_(context_)))
            throw std::runtime_error("a proxy has no component behind it");
        return *port_;
    }

private:
    mutable Port *port_ = nullptr;
    Port *(*find_)(void *) = nullptr;
    void *context_ = nullptr;
};

/* How a proxy comes by a function that is not public: access is not checked in explicit instantiations. */
template <class Tag, auto function> struct expose {
    friend auto exposed(Tag) { return function; }
};

}

#endif
