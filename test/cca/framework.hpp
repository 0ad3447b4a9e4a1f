/*
 * A framework for assemblies of components: what a script for Ccaffeine says is done by every process, each with
 * its own instances (SCMD). It exists so that assemblies run where no other framework is.
 *
 * May use: the C++ library, dlopen, MPI. Invariant: a command is done wholly or, with an Error, not at all.
 */
#ifndef CCA_FRAMEWORK_HPP
#define CCA_FRAMEWORK_HPP

#include "cca.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace framework {

/* What is wrong, and how to mend it. */
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Instance;

class Framework {
public:
    /* The port is provided to every uses port of its type, unless the script connects that to another one. */
    void offer(const std::string &type, classic::gov::cca::Port *port) { own_[type] = port; }
    classic::gov::cca::Port *offered(const std::string &type) const;

    /* Adds the classes of a directory's *.cca files; instead of those before that are not loaded, or to them. */
    void search(const std::string &directory, bool instead);
    /* Loads the library of a class. */
    void load(const std::string &type, bool global);
    std::vector<std::string> known() const, loaded() const;

    void create(const std::string &type, const std::string &name);
    void connect(const std::string &user, const std::string &uses, const std::string &provider, const std::string &provides);
    void disconnect(const std::string &user, const std::string &uses, const std::string &provider, const std::string &provides);
    void remove(const std::string &name);
    void go(const std::string &name, const std::string &port);
    void set(const std::string &name, const std::string &port, const std::string &parameter, const std::string &value);
    /* One instance to a line, with its ports and connections. */
    std::string describe() const;

    Framework();
    ~Framework();

private:
    struct Maker {
        std::string library, function;
        void *symbol;
    };
    Instance &find(const std::string &name) const;

    std::map<std::string, Maker> known_;
    std::map<std::string, classic::gov::cca::Port *> own_;
    std::vector<std::unique_ptr<Instance>> instances_; /* in the order of their making */
};

/* One command of a script; false: it was the last one. Throws Error. */
bool command(Framework &f, const std::vector<std::string> &words, std::string &output);

}

#endif
