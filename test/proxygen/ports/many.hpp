#pragma once
#include <cstdint>
#include <string>
namespace many {
class Port {
public:
    virtual ~Port() = default;
    virtual long all(bool first_argument, char second_argument, signed char third_argument, unsigned char fourth_argument, short fifth_argument,
                     unsigned short sixth_argument, int seventh_argument, unsigned eighth_argument, long ninth_argument,
                     unsigned long tenth_argument, long long eleventh_argument, std::uint64_t twelfth_argument, float thirteenth_argument,
                     double fourteenth_argument, long double fifteenth_argument, wchar_t sixteenth_argument, char16_t seventeenth_argument,
                     char32_t eighteenth_argument, std::int8_t nineteenth_argument, const std::string &twentieth_argument) = 0;
    virtual void reset() = 0;
    virtual int quiet(int n) = 0;
    virtual int silent(int n) const = 0;
};
}
