#include "move_only_proxy.hpp"
#include "check.hpp"
struct Component : move_only::Port {
    std::unique_ptr<int> pass(std::unique_ptr<int> p) override { ++*p; return p; }
    move_only::Token exchange(move_only::Token t, move_only::Token &&u) override { return move_only::Token(t.id * 100 + std::exchange(u.id, 9)); }
    move_only::Pinned make(int id) override { return move_only::Pinned(id); }
    std::future<int> later(std::promise<int> p) override { p.set_value(5); return p.get_future(); }
    std::vector<std::unique_ptr<int>> all(std::vector<std::unique_ptr<int>> list) override { list.emplace_back(new int(3)); return list; }
    const move_only::Pinned &same(const move_only::Pinned &p) override { return p; }
    void keep(std::unique_ptr<int> &&) override {}
};
int main()
{
    return check::same<move_only::PortProxy, Component>([](move_only::Port &p, check::trace &t) {
        move_only::Token u(2);
        move_only::Pinned q(4);
        auto kept = std::make_unique<int>(1);
        p.keep(std::move(kept)); // does not take it
        t << *p.pass(std::make_unique<int>(41)) << p.exchange(move_only::Token(1), std::move(u)).id << u.id << p.make(7).id
          << p.later({}).get() << p.all({}).size() << (&p.same(q) == &q) << (kept != nullptr);
    });
}
