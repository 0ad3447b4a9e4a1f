/*
 * Heat that spreads, and is carried by a wind, on a square of N × N points: -n N, and -steps S solves of each. The first has a
 * symmetric matrix and solvers with the prefix heat_, the second an unsymmetric one and the prefix wind_; -plain: none has a
 * prefix. Each is a stage. It prints the solutions' sums, and does not ask how solvers ended.
 */
#include <petscksp.h>

static PetscErrorCode assemble(PetscInt n, PetscReal wind, Mat *a)
{
    PetscInt first, last;
    PetscFunctionBeginUser;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 4, NULL, a));
    PetscCall(MatGetOwnershipRange(*a, &first, &last));
    for (PetscInt k = first; k < last; k++) {
        PetscInt i = k / n, j = k % n;
        PetscCall(MatSetValue(*a, k, k, 4.01, INSERT_VALUES));
        if (i > 0)
            PetscCall(MatSetValue(*a, k, k - n, -1 - wind, INSERT_VALUES));
        if (i < n - 1)
            PetscCall(MatSetValue(*a, k, k + n, -1 + wind, INSERT_VALUES));
        if (j > 0)
            PetscCall(MatSetValue(*a, k, k - 1, -1 - wind / 2, INSERT_VALUES));
        if (j < n - 1)
            PetscCall(MatSetValue(*a, k, k + 1, -1 + wind / 2, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode phase(const char *name, const char *prefix, PetscInt n, PetscInt steps, PetscReal wind)
{
    PetscLogStage stage;
    Mat a;
    Vec x, b;
    KSP solver;
    PetscScalar sum;
    PetscFunctionBeginUser;
    PetscCall(PetscLogStageRegister(name, &stage));
    PetscCall(PetscLogStagePush(stage));
    PetscCall(assemble(n, wind, &a));
    PetscCall(MatCreateVecs(a, &x, &b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
    PetscCall(KSPSetOptionsPrefix(solver, prefix));
    PetscCall(KSPSetOperators(solver, a, a));
    PetscCall(KSPSetTolerances(solver, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 400));
    PetscCall(KSPSetFromOptions(solver));
    for (PetscInt step = 0; step < steps; step++) {
        PetscCall(VecSet(b, 1 + step));
        PetscCall(KSPSolve(solver, b, x));
    }
    PetscCall(VecSum(x, &sum));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %.5g\n", name, (double)PetscRealPart(sum)));
    PetscCall(KSPDestroy(&solver));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&a));
    PetscCall(PetscLogStagePop());
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt n = 30, steps = 3;
    PetscBool plain = PETSC_FALSE;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-plain", &plain, NULL));
    PetscCall(phase("Diffusion", plain ? NULL : "heat_", n, steps, 0));
    PetscCall(phase("Transport", plain ? NULL : "wind_", n, steps, 0.9));
    PetscCall(PetscFinalize());
    return 0;
}
