#pragma once
#include <utility>
namespace assignment {
class Port {
public:
    Port() = default;
    virtual ~Port() = default;
    virtual Port &operator=(const Port &other) = 0;
    virtual Port &operator=(Port &&other) = 0;
    virtual Port &operator=(int) = 0;
    virtual int value() const = 0;
    Port(const Port &) = delete;
};
}
