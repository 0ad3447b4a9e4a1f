/* grace: levels of patches, their ghosts, who owns what. icc: between two levels. bc: at the edge of the domain. */
#include "part.hpp"

#include <cmath>
#include <map>
#include <mpiservice.h>

namespace shock {
namespace {

double minmod(double a, double b) { return a * b <= 0 ? 0 : std::fabs(a) < std::fabs(b) ? a : b; }

template <class Use> void each_cell(const Box &b, Use use)
{
    for (int y = b.y0; y < b.y1; y++)
        for (int x = b.x0; x < b.x1; x++)
            use(x, y);
}

/* Rectangles of flagged tiles of a lattice: runs in a row, and equal runs below each other. */
std::vector<Box> cluster(const std::vector<int> &flags, int width, int height, int widest, int highest)
{
    std::vector<Box> boxes, open;
    for (int y = 0; y < height; y++) {
        std::vector<Box> row;
        for (int x = 0, end; x < width; x = end) {
            for (end = x; end < width && end - x < widest && flags[static_cast<std::size_t>(y * width + end)]; end++)
                ;
            if (end == x) {
                end++;
                continue;
            }
            Box run{x, y, end, y + 1};
            for (Box &above : open)
                if (above.x0 == x && above.x1 == end && above.height() < highest) {
                    run.y0 = above.y0;
                    above.x1 = above.x0;
                }
            row.push_back(run);
        }
        for (const Box &done : open)
            if (!done.empty())
                boxes.push_back(done);
        open = row;
    }
    boxes.insert(boxes.end(), open.begin(), open.end());
    std::sort(boxes.begin(), boxes.end(), [](const Box &a, const Box &b) { return a.x0 != b.x0 ? a.x0 < b.x0 : a.y0 < b.y0; });
    return boxes;
}

class Grace : public Part<MeshPort> {
public:
    Grace() : Part({"icc", "bc", "gov.cca.MPIService"}) {}

    void build(const Setup &setup) override
    {
        if (setup.width % tile || setup.height % tile || setup.levels < 1 || setup.patch < 1)
            throw std::runtime_error("grace: width and height have to be multiples of 8, and there is at least one level; patches are at least as large as usual");
        mpi_ = dynamic_cast<classic::gov::cca::MPIService *>(services_->getPort("gov.cca.MPIService"));
        comm_ = mpi_->getComm();
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &ranks_);
        setup_ = setup;
        levels_.assign(static_cast<std::size_t>(setup.levels), {});
        regrids_ = 0;
        int width = setup.width / tile, height = setup.height / tile;
        std::vector<int> all(static_cast<std::size_t>(width * height), 1);
        levels_[0] = make(0, cluster(all, width, height, 3 * setup.patch, 4 * setup.patch), tile);
    }
    void setServices(classic::gov::cca::Services *services) override
    {
        if (!services && mpi_) {
            mpi_->releaseComm(comm_);
            services_->releasePort("gov.cca.MPIService");
        }
        Part::setServices(services);
    }
    int levels() const override { return static_cast<int>(levels_.size()); }
    int rank() const override { return rank_; }
    Patches &patches(int level) override { return levels_[static_cast<std::size_t>(level)]; }
    Box domain(int level) const override { return {0, 0, setup_.width << level, setup_.height << level}; }
    double spacing(int level) const override { return 1. / (setup_.height << level); }

    double greatest(double value) override
    {
        double result;
        MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, comm_);
        return result;
    }
    void sum(std::vector<double> &values) override
    {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, comm_);
    }

    /* All go through all pairs of patches in one order, so that what one packs is what the other unpacks. */
    void exchange(const Patches &from, Patches &to, int margin) override
    {
        std::map<int, std::vector<double>> out, in;
        auto each = [&](auto use) {
            for (Patch &d : to)
                for (const Patch &s : from) {
                    Box b = s.box.cut(d.box.grown(margin));
                    if (&s != &d && !b.empty() && (s.owner == rank_ || d.owner == rank_))
                        use(s, d, b);
                }
        };
        each([&](const Patch &s, Patch &d, const Box &b) {
            auto n = static_cast<std::size_t>(fields * b.width() * b.height());
            if (s.owner == d.owner)
                return;
            std::vector<double> &buffer = s.owner == rank_ ? out[d.owner] : in[s.owner];
            if (d.owner == rank_)
                buffer.resize(buffer.size() + n);
            else
                for (int f = 0; f < fields; f++)
                    each_cell(b, [&](int x, int y) { buffer.push_back(s.at(f, x, y)); });
        });
        std::vector<MPI_Request> requests;
        for (auto &[peer, buffer] : in)
            MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, peer, 0, comm_, &requests.emplace_back());
        for (auto &[peer, buffer] : out)
            MPI_Isend(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, peer, 0, comm_, &requests.emplace_back());
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        std::map<int, const double *> next;
        for (auto &[peer, buffer] : in)
            next[peer] = buffer.data();
        each([&](const Patch &s, Patch &d, const Box &b) {
            if (d.owner != rank_)
                return;
            for (int f = 0; f < fields; f++)
                each_cell(b, [&](int x, int y) { d.at(f, x, y) = s.owner == rank_ ? s.at(f, x, y) : *next[s.owner]++; });
        });
    }

    void GC_Synch(int level) override
    {
        Patches &mine = patches(level);
        if (level > 0)
            interpolate(level, mine, true);
        exchange(mine, mine, ghosts);
        for (Patch &p : mine)
            if (p.owner == rank_)
                port<BoundaryPort>().compute(p, domain(level));
    }

    void GC_regrid_above(int level, const std::vector<int> &flags) override
    {
        std::vector<int> all(flags.size());
        MPI_Allreduce(flags.data(), all.data(), static_cast<int>(flags.size()), MPI_INT, MPI_MAX, comm_);
        int width = domain(level).width() / tile, height = domain(level).height() / tile;
        std::vector<int> covered(all.size());
        for (const Patch &p : patches(level))
            each_cell({p.box.x0 / tile, p.box.y0 / tile, p.box.x1 / tile, p.box.y1 / tile},
                      [&](int x, int y) { covered[static_cast<std::size_t>(y * width + x)] = 1; });
        /* One tile more around what is flagged, and always one of this level between it and the level below. */
        auto around = [&](const std::vector<int> &of, int x, int y, bool every) {
            bool result = every;
            each_cell(Box{x - 1, y - 1, x + 2, y + 2}.cut({0, 0, width, height}), [&](int i, int j) {
                bool is = of[static_cast<std::size_t>(j * width + i)] != 0;
                result = every ? result && is : result || is;
            });
            return result;
        };
        std::vector<int> wanted(all.size());
        each_cell({0, 0, width, height},
                  [&](int x, int y) { wanted[static_cast<std::size_t>(y * width + x)] = around(all, x, y, false) && around(covered, x, y, true); });
        Patches fresh = make(level + 1, cluster(wanted, width, height, 6 * setup_.patch, 4 * setup_.patch), 2 * tile);
        interpolate(level + 1, fresh, false);
        exchange(patches(level + 1), fresh, 0);
        patches(level + 1) = std::move(fresh);
        regrids_ += level == 0;
        GC_Synch(level + 1);
    }

private:
    /* Patches of a level; at first their owners are those of what they lie on, then all have about as many cells. */
    Patches make(int level, const std::vector<Box> &tiles, int cells)
    {
        Patches list;
        long all = 0, before = 0;
        for (const Box &t : tiles)
            all += static_cast<long>(t.width()) * t.height();
        for (const Box &t : tiles) {
            Patch p{{t.x0 * cells, t.y0 * cells, t.x1 * cells, t.y1 * cells}, level, 0, {}};
            p.owner = static_cast<int>((2 * before + static_cast<long>(t.width()) * t.height()) * ranks_ / (2 * all));
            before += static_cast<long>(t.width()) * t.height();
            if (level > 0 && regrids_ < setup_.unbalanced)
                for (const Patch &below : patches(0))
                    if (!below.box.cut({p.box.x0 >> level, p.box.y0 >> level, (p.box.x0 >> level) + 1, (p.box.y0 >> level) + 1}).empty())
                        p.owner = below.owner;
            if (p.owner == rank_)
                p.allocate();
            list.push_back(std::move(p));
        }
        return list;
    }

    /* Values of the level below, wherever patches have them: in their ghosts, or all over. */
    void interpolate(int level, Patches &list, bool only_ghosts)
    {
        Patches shadows;
        for (const Patch &p : list) {
            Patch s{p.box.grown(ghosts).coarsened().grown(1).cut(domain(level - 1)), level - 1, p.owner, {}};
            if (s.owner == rank_)
                s.allocate();
            shadows.push_back(std::move(s));
        }
        exchange(patches(level - 1), shadows, 0);
        for (std::size_t i = 0; i < list.size(); i++)
            if (list[i].owner == rank_)
                port<IccPort>().prolong(shadows[i], list[i], list[i].box.grown(ghosts).cut(domain(level)),
                                        only_ghosts ? list[i].box : Box{0, 0, 0, 0});
    }

    Setup setup_;
    std::vector<Patches> levels_;
    classic::gov::cca::MPIService *mpi_ = nullptr;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, ranks_ = 1, regrids_ = 0;
};

class Icc : public Part<IccPort> {
public:
    Icc() : Part({"mesh"}) {}

    void prolong(const Patch &coarse, Patch &fine, const Box &region, const Box &except) override
    {
        Box inner = coarse.box.grown(-1);
        for (int f = 0; f < fields; f++)
            each_cell(region, [&](int x, int y) {
                if (!except.cut({x, y, x + 1, y + 1}).empty())
                    return;
                int i = x >> 1, j = y >> 1;
                double u = coarse.at(f, i, j), sx = 0, sy = 0;
                if (i >= inner.x0 && i < inner.x1)
                    sx = minmod(coarse.at(f, i + 1, j) - u, u - coarse.at(f, i - 1, j));
                if (j >= inner.y0 && j < inner.y1)
                    sy = minmod(coarse.at(f, i, j + 1) - u, u - coarse.at(f, i, j - 1));
                fine.at(f, x, y) = u + (x & 1 ? 0.25 : -0.25) * sx + (y & 1 ? 0.25 : -0.25) * sy;
            });
    }

    void restrict_to(int level) override
    {
        auto &mesh = port<MeshPort>();
        Patches shadows;
        for (const Patch &fine : mesh.patches(level + 1)) {
            Patch s{fine.box.coarsened(), level, fine.owner, {}};
            if (s.owner == mesh.rank()) {
                s.allocate();
                for (int f = 0; f < fields; f++)
                    each_cell(s.box, [&](int x, int y) {
                        s.at(f, x, y) = 0.25 * (fine.at(f, 2 * x, 2 * y) + fine.at(f, 2 * x + 1, 2 * y) + fine.at(f, 2 * x, 2 * y + 1) +
                                                fine.at(f, 2 * x + 1, 2 * y + 1));
                    });
            }
            shadows.push_back(std::move(s));
        }
        mesh.exchange(shadows, mesh.patches(level), 0);
    }
};

/* What leaves in x does not come back; walls in y. */
class Boundary : public Part<BoundaryPort> {
public:
    Boundary() : Part({}) {}
    void compute(Patch &p, const Box &domain) override
    {
        for (int f = 0; f < fields; f++) {
            for (int y = p.box.y0; y < p.box.y1; y++)
                for (int g = 1; g <= ghosts; g++) {
                    if (p.box.x0 == domain.x0)
                        p.at(f, domain.x0 - g, y) = p.at(f, domain.x0, y);
                    if (p.box.x1 == domain.x1)
                        p.at(f, domain.x1 - 1 + g, y) = p.at(f, domain.x1 - 1, y);
                }
            double mirror = f == 2 ? -1 : 1;
            for (int x = p.box.x0 - ghosts; x < p.box.x1 + ghosts; x++)
                for (int g = 1; g <= ghosts; g++) {
                    if (p.box.y0 == domain.y0)
                        p.at(f, x, domain.y0 - g) = mirror * p.at(f, x, domain.y0 + g - 1);
                    if (p.box.y1 == domain.y1)
                        p.at(f, x, domain.y1 - 1 + g) = mirror * p.at(f, x, domain.y1 - g);
                }
        }
    }
};

}
}

extern "C" {
classic::gov::cca::Component *create_Grace() { return new shock::Grace; }
classic::gov::cca::Component *create_Icc() { return new shock::Icc; }
classic::gov::cca::Component *create_Boundary() { return new shock::Boundary; }
}
