// omitted: standard::Buffer::getloc() const: not virtual: calls run on the proxy itself
#include "standard_proxy.hpp"
#include "check.hpp"
#include <iostream>
struct Text : standard::Buffer {
    std::string s;
    std::string text() const override { return s; }
    int overflow(int c) override { s += static_cast<char>(c); return c; }
    std::streamsize xsputn(const char *p, std::streamsize n) override { s.append(p, static_cast<std::size_t>(n)); return n; }
    int sync() override { s += '|'; return 0; }
};
struct Broken : standard::Failure {
    const char *what() const noexcept override { return "broken"; }
    int code() const noexcept override { return 4; }
};
int main()
{
    check::same<standard::BufferProxy, Text>(
        [](standard::Buffer &b, check::trace &t) {
            std::ostream out(&b);
            out << "text" << 5 << 'c' << std::flush;
            out.seekp(0);
            t << b.text() << b.in_avail() << b.pubseekpos(3) << b.pubseekoff(0, std::ios::cur) << (b.sgetc() == EOF) << (b.sbumpc() == EOF) << (b.sputbackc('x') == EOF);
            char c[2];
            t << b.sgetn(c, 2) << (b.pubsetbuf(nullptr, 0) != nullptr);
            b.pubimbue(std::locale());
        });
    return check::same<standard::FailureProxy, Broken>([](standard::Failure &f, check::trace &t) {
        std::exception &e = f;
        t << e.what() << f.code();
    });
}
