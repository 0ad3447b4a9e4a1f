/*
 * Runs a script for Ccaffeine on all processes: ccafe [--ccafe-rc] SCRIPT. The first process reads it. What is wrong
 * is said once, as SCRIPT:LINE: …, and ends all of them with exit code 1; 2 if the script cannot be read.
 */
#include "framework.hpp"
#include "mpiservice.h"

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

using namespace framework;

namespace {

class World : public classic::gov::cca::MPIService {
public:
    MPI_Comm getComm() override
    {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        return comm;
    }
    void releaseComm(MPI_Comm comm) override { MPI_Comm_free(&comm); }
};

/* The script's text, the same everywhere; false if it cannot be read. */
bool read(const char *file, int rank, std::string &text)
{
    long size = -1;
    if (rank == 0) {
        std::ifstream in(file);
        std::ostringstream all;
        if (in && (all << in.rdbuf() || (in.peek() == EOF && !in.bad())) && all.str().size() < INT_MAX) {
            text = all.str();
            size = static_cast<long>(text.size());
        }
    }
    MPI_Bcast(&size, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (size <= 0)
        return size == 0;
    text.resize(static_cast<size_t>(size));
    MPI_Bcast(&text[0], static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
    return true;
}

std::vector<std::string> split(const std::string &line)
{
    std::vector<std::string> words;
    std::istringstream in(line);
    for (std::string word; in >> word && word[0] != '#';)
        words.push_back(word);
    return words;
}

/* Whether a command has succeeded everywhere; if not, the first process where it failed says why. */
bool all_well(bool well, int rank, int ranks, const std::string &message)
{
    int mine = well ? ranks : rank, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank)
        std::cerr << message << std::endl;
    return first == ranks;
}

int run(const char *file, int rank, int ranks)
{
    std::string text, line;
    if (!read(file, rank, text)) {
        if (rank == 0)
            std::cerr << "ccafe: cannot read " << file << ": " << strerror(errno) << std::endl;
        return 2;
    }
    World world;
    Framework f;
    f.offer("gov.cca.MPIService", &world);
    std::istringstream in(text);
    for (int number = 1; std::getline(in, line); number++) {
        std::vector<std::string> words = split(line);
        if (words.empty())
            continue;
        std::string output, message;
        bool more = true, well = true;
        try {
            more = command(f, words, output);
        } catch (const std::exception &problem) {
            well = false;
            message = std::string(file) + ":" + std::to_string(number) + ": " + words[0] + ": " + problem.what();
        }
        if (!well && ranks > 1 && (words[0] == "go" || words[0] == "run")) {
            /* The others may wait inside for this one. Launchers lose what is said right before an abort. */
            std::cerr << message << std::endl;
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (!all_well(well, rank, ranks, message))
            return 1;
        if (rank == 0)
            std::cout << output << std::flush;
        if (!more)
            break;
    }
    return 0;
}

}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, code = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc == 2 || (argc == 3 && strcmp(argv[1], "--ccafe-rc") == 0))
        code = run(argv[argc - 1], rank, ranks);
    else if (rank == 0)
        std::cerr << "usage: ccafe [--ccafe-rc] SCRIPT" << std::endl;
    MPI_Finalize();
    return code;
}
