/*
 * The Common Component Architecture's classic C++ interfaces, as far as assemblies need them: the names and
 * signatures are those of Ccaffeine, so that components compile with either.
 */
#ifndef CCA_H
#define CCA_H

#include <stdexcept>
#include <string>

namespace classic {
namespace gov {
namespace cca {

/* What a component provides or uses. */
class Port {
public:
    virtual ~Port() {}
};

class PortInfo {
public:
    virtual ~PortInfo() {}
    virtual const char *getType() const = 0;
    virtual const char *getName() const = 0;
    /* NULL if there is no property of this name. */
    virtual const char *getProperty(char *name) const = 0;
};

class ComponentID {
public:
    virtual ~ComponentID() {}
    virtual char *toString() = 0;
};

class CCAException : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/* A component's view of its framework. */
class Services {
public:
    virtual ~Services() {}

    /* The framework's from the moment it is passed on. properties: names and values in turn, NULL at the end; or NULL. */
    virtual PortInfo *createPortInfo(const char *name, const char *type, const char **properties) = 0;

    /* NULL if the port is not connected. Until releasePort it cannot be disconnected. */
    virtual Port *getPort(const char *name) = 0;
    virtual void releasePort(const char *name) = 0;

    /* Nonzero if there is a port of this name. */
    virtual int registerUsesPort(PortInfo *info) = 0;
    virtual int addProvidesPort(Port *port, PortInfo *info) = 0;
    /* Nonzero if there is none, or it is in use. */
    virtual int unregisterUsesPort(const char *name) = 0;
    virtual void removeProvidesPort(const char *name) = 0;

    /* These throw CCAException instead. */
    virtual void registerUsesPort(const std::string &name, const std::string &type) = 0;
    virtual void addProvidesPort(Port *port, const std::string &name, const std::string &type) = 0;

    virtual ComponentID *getComponentID() = 0;
};

class Component {
public:
    virtual ~Component() {}
    /* Called once when the component is made, and with NULL before it is destroyed. */
    virtual void setServices(Services *services) = 0;
};

/* Starts something; not 0: it failed. */
class GoPort : public virtual Port {
public:
    virtual int go() = 0;
};

/* A parameter of a component, set by its script. */
class ParameterPort : public virtual Port {
public:
    /* Throws CCAException, saying what it expects. */
    virtual void set(const std::string &name, const std::string &value) = 0;
};

}
}
}

#endif
