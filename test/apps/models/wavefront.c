/*
 * A wavefront: ranks form a grid, and a sweep goes from one corner to the opposite one, block by block.
 *
 *   healthy        many blocks a sweep, sweep after sweep from the same corner
 *   coarse-blocks  few, large blocks: most ranks wait for the front
 *   fine-blocks    the same work in far too many blocks
 *   turning        each sweep begins at another corner, with few blocks before it turns
 *   uneven         one rank has more cells than the others
 */
#include "model.h"

enum { FACE = 5 };

static int width, height, x, y;
static double face[2][4096];

static int at(int column, int row)
{
    return column < 0 || row < 0 || column >= width || row >= height ? MPI_PROC_NULL : row * width + column;
}

static NOINLINE void block(int dx, int dy, int count, uint64_t ns)
{
    MPI_Recv(face[0], count, MPI_DOUBLE, at(x - dx, y), FACE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(face[1], count, MPI_DOUBLE, at(x, y - dy), FACE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work_for(ns);
    MPI_Ssend(face[0], count, MPI_DOUBLE, at(x + dx, y), FACE, MPI_COMM_WORLD);
    MPI_Ssend(face[1], count, MPI_DOUBLE, at(x, y + dy), FACE, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "coarse-blocks", "fine-blocks", "turning", "uneven", NULL};
    begin(argc, argv, known);
    for (width = 1; width * width < ranks || ranks % width; width++)
        ;
    height = ranks / width;
    x = rank % width, y = rank / width;
    int sweeps = 4 * size, blocks = 50, count = 256;
    uint64_t all = 16 * MS * (uint64_t)size;
    if (ails("coarse-blocks"))
        sweeps = 1, blocks = width + height;
    if (ails("fine-blocks"))
        blocks *= 10, count = 2;
    if (ails("turning"))
        sweeps *= 10, blocks /= 10;
    uint64_t ns = all / (uint64_t)(sweeps * blocks);
    if (ails("uneven"))
        ns = uneven(ns, ranks / 2);
    for (int s = 0; s < sweeps; s++) {
        int turn = ails("turning") ? s % 4 : 0;
        for (int b = 0; b < blocks; b++)
            block(turn & 1 ? -1 : 1, turn & 2 ? -1 : 1, count, ns);
    }
    return finish(all);
}
