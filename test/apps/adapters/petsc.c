/*
 * A conjugate gradient solver of PETSc's with a stage of its own, and an event of the program's.
 */
#include <petscksp.h>

int main(int argc, char **argv)
{
    Mat a;
    Vec x, b;
    KSP solver;
    PetscLogStage assembly;
    PetscLogEvent fill;
    PetscInt first, last, n = 2000;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscLogStageRegister("Assembly", &assembly));
    PetscCall(PetscLogEventRegister("FillRows", MAT_CLASSID, &fill));
    PetscCall(PetscLogStagePush(assembly));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 2, NULL, &a));
    PetscCall(MatGetOwnershipRange(a, &first, &last));
    for (int round = 0; round < 2; round++) {
        PetscCall(PetscLogEventBegin(fill, a, 0, 0, 0));
        for (PetscInt i = first; i < last; i++) {
            PetscCall(MatSetValue(a, i, i, 2.1, INSERT_VALUES));
            if (i > 0)
                PetscCall(MatSetValue(a, i, i - 1, -1, INSERT_VALUES));
            if (i < n - 1)
                PetscCall(MatSetValue(a, i, i + 1, -1, INSERT_VALUES));
        }
        PetscCall(PetscLogEventEnd(fill, a, 0, 0, 0));
    }
    PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscLogStagePop());
    PetscCall(MatCreateVecs(a, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
    PetscCall(KSPSetOperators(solver, a, a));
    PetscCall(KSPSetType(solver, KSPCG));
    PetscCall(KSPSetFromOptions(solver));
    PetscCall(KSPSolve(solver, b, x));
    PetscInt steps;
    PetscCall(KSPGetIterationNumber(solver, &steps));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d steps\n", (int)steps));
    PetscCall(KSPDestroy(&solver));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&a));
    PetscCall(PetscFinalize());
    return 0;
}
