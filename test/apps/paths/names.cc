/*
 * C++: classes, templates, virtual functions, lambdas, exceptions through frames, and the library in between;
 * see plain.c for what the lines "path:" mean.
 *
 *     path: main@a > physics::Solver<double>::step@b > physics::(anonymous namespace)::halo@c > MPI_Barrier x 5
 *     path: main@d > physics::Solver<int>::step@b > physics::(anonymous namespace)::halo@c > MPI_Barrier x 5
 *     path: main@e > apply@f > physics::Round::run@g > MPI_Barrier x 5
 *     path: main@h > apply@f > physics::Square::run@i > MPI_Barrier x 5
 *     path: main@j > * > ~main::{lambda}::operator()@k > MPI_Barrier x 5
 *     path: main@l > catcher@m > MPI_Barrier x 5
 *     path: main@l > catcher@n > thrower@o > physics::Guard::~Guard@p > MPI_Barrier x 5
 *     path: main@q > catcher@r > deep@s > MPI_Barrier x 5
 *     path: main@t > * > compare@u > MPI_Barrier x 1
 */
#include <algorithm>
#include <functional>
#include <mpi.h>
#include <stdexcept>
#include <vector>

#define NOINLINE __attribute__((noipa))
#define STAY __asm__ volatile("" : : : "memory")

namespace physics {

namespace {
NOINLINE void halo()
{
    MPI_Barrier(MPI_COMM_WORLD); // @c
    STAY;
}
} // namespace

template <class T> struct Solver {
    T value = T();
    NOINLINE void step()
    {
        value += T(1);
        halo(); // @b
        STAY;
    }
};

struct Shape {
    virtual ~Shape() = default;
    virtual void run() = 0;
};

struct Round : Shape {
    NOINLINE void run() override
    {
        MPI_Barrier(MPI_COMM_WORLD); // @g
        STAY;
    }
};

struct Square : Shape {
    NOINLINE void run() override
    {
        MPI_Barrier(MPI_COMM_WORLD); // @i
        STAY;
    }
};

struct Guard {
    NOINLINE ~Guard()
    {
        MPI_Barrier(MPI_COMM_WORLD); // @p
        STAY;
    }
};

} // namespace physics

static NOINLINE void apply(physics::Shape &shape)
{
    shape.run(); // @f
    STAY;
}

static NOINLINE void deep()
{
    MPI_Barrier(MPI_COMM_WORLD); // @s
    STAY;
}

static NOINLINE void thrower()
{
    physics::Guard guard;
    throw std::runtime_error("on purpose");
} // @o

static NOINLINE void catcher(bool throws)
{
    try {
        if (throws)
            thrower(); // @n
        else
            deep(); // @r
        STAY;
    } catch (const std::exception &) {
        MPI_Barrier(MPI_COMM_WORLD); // @m
        STAY;
    }
}

static int compared;

static NOINLINE bool compare(int a, int b)
{
    if (compared++ == 0)
        MPI_Barrier(MPI_COMM_WORLD); // @u
    STAY;
    return a < b;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    physics::Solver<double> real;
    physics::Solver<int> whole;
    physics::Round round;
    physics::Square square;
    std::function<void()> function = [] {
        MPI_Barrier(MPI_COMM_WORLD); // @k
        STAY;
    };
    for (int i = 0; i < 5; i++) {
        real.step();  // @a
        whole.step(); // @d
        apply(round);  // @e
        apply(square); // @h
        function(); // @j
        catcher(true);  // @l
        catcher(false); // @q
    }
    std::vector<int> list{3, 1, 2};
    std::sort(list.begin(), list.end(), compare); // @t
    MPI_Finalize();
}
