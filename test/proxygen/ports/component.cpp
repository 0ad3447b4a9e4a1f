// proxygen: --port component::FluxPort --port component::MeshPort --per-component --component Solver
// proxygen: --param 'compute:cells=u.size()*n' --param compute:half=n/2. --param MeshPort::refine:levels=level*by
#include "component_proxy.hpp"
#include "check.hpp"
struct Flux : component::FluxPort {
    int level = 0;
    double compute(const std::vector<double> &u, int n) override { return u[0] * n + level; }
    void set(int l) override { level = l; }
};
struct Component : Flux, component::MeshPort {
    int version() const override { return 3; }
    int refine(int l, int by) override { return l * by; }
    void set(int l) override { level = 100 * l; }
};
int main()
{
    Component direct, behind;
    component::SolverProxy proxy(behind);
    auto exercise = [](component::FluxPort &f, component::MeshPort &m, check::trace &t) {
        component::Port &p = f, &q = m;
        f.set(2);
        t << f.compute({1.5, 2}, 4) << m.refine(3) << m.refine(3, 4) << p.version() << q.version();
        m.set(3);
        t << f.compute({1, 2, 3}, 5);
    };
    check::trace a, b;
    exercise(direct, direct, a);
    exercise(proxy, proxy, b);
    check::expect(a.text() == b.text(), a.text() + "\n" + b.text());
    check::all_called(proxy.FluxPortProxy::marple_methods());
    check::all_called(proxy.MeshPortProxy::marple_methods());
    auto &v = check::values;
    check::expect(v["compute"]["cells"] == 15 && v["compute"]["half"] == 2.5 && v["compute"].size() == 2, "parameters of compute");
    check::expect(v["refine"]["levels"] == 12 && v["set"]["level"] == 3, "parameters of refine and set");
    return check::failures != 0;
}
