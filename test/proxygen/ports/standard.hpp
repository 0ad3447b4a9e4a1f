#pragma once
#include <exception>
#include <streambuf>
#include <string>
namespace standard {
class Buffer : public std::streambuf { // interfaces of the standard library
public:
    virtual std::string text() const = 0;
};
class Failure : public std::exception {
public:
    virtual int code() const noexcept = 0;
};
}
