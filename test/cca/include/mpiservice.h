/* The framework's communicator: a uses port of type "gov.cca.MPIService" is connected to the framework itself. */
#ifndef CCA_MPISERVICE_H
#define CCA_MPISERVICE_H

#include "cca.h"

#include <mpi.h>

namespace classic {
namespace gov {
namespace cca {

class MPIService : public virtual Port {
public:
    /* A duplicate of the communicator of all that run the assembly; collective. */
    virtual MPI_Comm getComm() = 0;
    virtual void releaseComm(MPI_Comm comm) = 0;
};

}
}
}

#endif
