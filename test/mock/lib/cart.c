/* Cartesian topologies. Ranks are in row-major order of their coordinates, as
 * MPI prescribes; reordering is never done. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct cart *cart_new(int ndims)
{
    struct cart *c = allocate(sizeof *c);
    c->ndims = ndims;
    c->dims = allocate((size_t)ndims * sizeof *c->dims);
    c->periods = allocate((size_t)ndims * sizeof *c->periods);
    return c;
}

struct cart *cart_copy(const struct cart *cart)
{
    if (!cart)
        return NULL;
    struct cart *c = cart_new(cart->ndims);
    memcpy(c->dims, cart->dims, (size_t)cart->ndims * sizeof *c->dims);
    memcpy(c->periods, cart->periods, (size_t)cart->ndims * sizeof *c->periods);
    return c;
}

void cart_free(struct cart *cart)
{
    if (!cart)
        return;
    free(cart->dims);
    free(cart->periods);
    free(cart);
}

static void coordinates(const struct cart *c, int rank, int *coords)
{
    for (int d = c->ndims - 1; d >= 0; d--) {
        coords[d] = rank % c->dims[d];
        rank /= c->dims[d];
    }
}

/* Returns MPI_PROC_NULL for what lies outside of a dimension with an end. */
static int rank_at(const struct cart *c, const int *coords)
{
    int rank = 0;
    for (int d = 0; d < c->ndims; d++) {
        int x = coords[d];
        if (c->periods[d])
            x = (x % c->dims[d] + c->dims[d]) % c->dims[d];
        if (x < 0 || x >= c->dims[d])
            return MPI_PROC_NULL;
        rank = rank * c->dims[d] + x;
    }
    return rank;
}

#define CART(name, handle_)                                   \
    COMM(comm_##name, handle_);                               \
    const struct cart *name = comm_##name->cart;              \
    REQUIRE(name, comm_##name, MPI_ERR_TOPOLOGY)

static int descending(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

/* Gives each prime factor, the largest first, to the smallest dimension. */
static void balance(int n, int *dims, int ndims)
{
    int factors[32], count = 0;
    for (int p = 2; n > 1; p++) {
        if (p > n / p)
            p = n;
        for (; n % p == 0; n /= p)
            factors[count++] = p;
    }
    for (int d = 0; d < ndims; d++)
        dims[d] = 1;
    while (count-- > 0) {
        int *smallest = dims;
        for (int d = 1; d < ndims; d++)
            if (dims[d] < *smallest)
                smallest = &dims[d];
        *smallest *= factors[count];
    }
    qsort(dims, (size_t)ndims, sizeof *dims, descending);
}

API(Dims_create, int nnodes, int ndims, int dims[])
{
    ENTER();
    REQUIRE(nnodes > 0 && ndims >= 0, NULL, MPI_ERR_ARG);
    int open = 0;
    for (int d = 0; d < ndims; d++) {
        REQUIRE(dims[d] >= 0 && (!dims[d] || nnodes % dims[d] == 0), NULL, MPI_ERR_DIMS);
        if (dims[d])
            nnodes /= dims[d];
        else
            open++;
    }
    REQUIRE(open || nnodes == 1 || !ndims, NULL, MPI_ERR_DIMS);
    int *free_dims = allocate((size_t)open * sizeof *free_dims);
    if (open)
        balance(nnodes, free_dims, open);
    int next = 0;
    for (int d = 0; d < ndims; d++)
        if (!dims[d])
            dims[d] = free_dims[next++];
    free(free_dims);
    return MPI_SUCCESS;
}

API(Topo_test, MPI_Comm comm, int *status)
{
    ENTER();
    COMM(c, comm);
    *status = c->cart ? MPI_CART : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

API(Cart_create, MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
    MPI_Comm *comm_cart)
{
    (void)reorder;
    ENTER();
    COMM(c, comm_old);
    REQUIRE(ndims >= 0, c, MPI_ERR_DIMS);
    int size = 1;
    for (int d = 0; d < ndims; d++) {
        REQUIRE(dims[d] > 0 && dims[d] <= c->group->size / size, c, MPI_ERR_DIMS);
        size *= dims[d];
    }
    struct comm *new = comm_split(c, c->rank < size ? 0 : MPI_UNDEFINED, 0);
    *comm_cart = MPI_COMM_NULL;
    if (new) {
        new->cart = cart_new(ndims);
        for (int d = 0; d < ndims; d++) {
            new->cart->dims[d] = dims[d];
            new->cart->periods[d] = periods[d] != 0;
        }
        *comm_cart = comm_publish(new);
    }
    return MPI_SUCCESS;
}

API(Cartdim_get, MPI_Comm comm, int *ndims)
{
    ENTER();
    CART(cart, comm);
    *ndims = cart->ndims;
    return MPI_SUCCESS;
}

API(Cart_get, MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    ENTER();
    CART(cart, comm);
    REQUIRE(maxdims >= cart->ndims, comm_cart, MPI_ERR_ARG);
    for (int d = 0; d < cart->ndims; d++) {
        dims[d] = cart->dims[d];
        periods[d] = cart->periods[d];
    }
    coordinates(cart, comm_cart->rank, coords);
    return MPI_SUCCESS;
}

API(Cart_rank, MPI_Comm comm, const int coords[], int *rank)
{
    ENTER();
    CART(cart, comm);
    *rank = rank_at(cart, coords);
    REQUIRE(*rank != MPI_PROC_NULL, comm_cart, MPI_ERR_ARG);
    return MPI_SUCCESS;
}

API(Cart_coords, MPI_Comm comm, int rank, int maxdims, int coords[])
{
    ENTER();
    CART(cart, comm);
    REQUIRE(rank >= 0 && rank < comm_cart->group->size, comm_cart, MPI_ERR_RANK);
    REQUIRE(maxdims >= cart->ndims, comm_cart, MPI_ERR_ARG);
    coordinates(cart, rank, coords);
    return MPI_SUCCESS;
}

API(Cart_shift, MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest)
{
    ENTER();
    CART(cart, comm);
    REQUIRE(direction >= 0 && direction < cart->ndims, comm_cart, MPI_ERR_DIMS);
    int *coords = allocate((size_t)cart->ndims * sizeof *coords);
    coordinates(cart, comm_cart->rank, coords);
    int here = coords[direction];
    coords[direction] = here - disp;
    *rank_source = rank_at(cart, coords);
    coords[direction] = here + disp;
    *rank_dest = rank_at(cart, coords);
    free(coords);
    return MPI_SUCCESS;
}

API(Cart_sub, MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    ENTER();
    CART(cart, comm);
    int *coords = allocate((size_t)cart->ndims * sizeof *coords);
    coordinates(cart, comm_cart->rank, coords);
    struct cart *part = cart_new(cart->ndims);
    part->ndims = 0;
    int color = 0, key = 0;
    for (int d = 0; d < cart->ndims; d++) {
        if (!remain_dims[d]) {
            color = color * cart->dims[d] + coords[d];
            continue;
        }
        key = key * cart->dims[d] + coords[d];
        part->dims[part->ndims] = cart->dims[d];
        part->periods[part->ndims] = cart->periods[d];
        part->ndims++;
    }
    free(coords);
    struct comm *new = comm_split(comm_cart, color, key);
    new->cart = part;
    *newcomm = comm_publish(new);
    return MPI_SUCCESS;
}
