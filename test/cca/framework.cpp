#include "framework.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace framework {

using namespace classic::gov::cca;

namespace {

class Info : public PortInfo {
public:
    Info(const char *name, const char *type, const char **properties) : name_(name ? name : ""), type_(type ? type : "")
    {
        for (; properties && properties[0] && properties[1]; properties += 2)
            properties_[properties[0]] = properties[1];
    }
    const char *getType() const override { return type_.c_str(); }
    const char *getName() const override { return name_.c_str(); }
    const char *getProperty(char *name) const override
    {
        auto found = properties_.find(name ? name : "");
        return found == properties_.end() ? nullptr : found->second.c_str();
    }

private:
    std::string name_, type_;
    std::map<std::string, std::string> properties_;
};

/* "a, b and c", for messages. */
template <class Map> std::string names(const Map &map)
{
    std::string text;
    for (const auto &item : map)
        text += (text.empty() ? "" : ", ") + item.first;
    return text.empty() ? "none" : text;
}

}

class Instance : public Services, public ComponentID {
public:
    struct Provided {
        std::unique_ptr<PortInfo> info;
        Port *port;
    };
    struct Used {
        std::unique_ptr<PortInfo> info;
        Instance *provider; /* NULL: not connected */
        std::string provides;
        int taken;
    };

    Instance(const Framework &f, std::string type, std::string name) : framework(f), type(type), name(name) {}

    PortInfo *createPortInfo(const char *n, const char *t, const char **properties) override { return new Info(n, t, properties); }

    Port *getPort(const char *n) override
    {
        auto found = uses.find(n ? n : "");
        if (found == uses.end())
            return nullptr;
        Used &u = found->second;
        Port *port = u.provider ? u.provider->provides.at(u.provides).port : framework.offered(u.info->getType());
        u.taken += port != nullptr;
        return port;
    }

    void releasePort(const char *n) override
    {
        auto found = uses.find(n ? n : "");
        if (found != uses.end() && found->second.taken > 0)
            found->second.taken--;
    }

    int registerUsesPort(PortInfo *info) override
    {
        std::unique_ptr<PortInfo> own(info);
        if (!info || named(info->getName()))
            return -1;
        std::string n = info->getName();
        uses[n] = Used{std::move(own), nullptr, "", 0};
        return 0;
    }

    int addProvidesPort(Port *port, PortInfo *info) override
    {
        std::unique_ptr<PortInfo> own(info);
        if (!info || !port || named(info->getName()))
            return -1;
        std::string n = info->getName();
        provides[n] = Provided{std::move(own), port};
        return 0;
    }

    int unregisterUsesPort(const char *n) override
    {
        auto found = uses.find(n ? n : "");
        if (found == uses.end() || found->second.taken)
            return -1;
        uses.erase(found);
        return 0;
    }

    void removeProvidesPort(const char *n) override
    {
        if (n && !provided_to(n))
            provides.erase(n);
    }

    void registerUsesPort(const std::string &n, const std::string &t) override
    {
        if (registerUsesPort(new Info(n.c_str(), t.c_str(), nullptr)))
            throw CCAException(name + " has a port " + n + " already");
    }

    void addProvidesPort(Port *port, const std::string &n, const std::string &t) override
    {
        if (!port)
            throw CCAException(name + ": port " + n + " is NULL");
        if (addProvidesPort(port, new Info(n.c_str(), t.c_str(), nullptr)))
            throw CCAException(name + " has a port " + n + " already");
    }

    ComponentID *getComponentID() override { return this; }
    /* The caller's to free, as in Ccaffeine. */
    char *toString() override { return strdup(name.c_str()); }

    bool named(const std::string &n) const { return uses.count(n) || provides.count(n); }
    /* Who uses a port, if anybody does. */
    const Instance *provided_to(const std::string &n) const
    {
        for (const Instance *user : users)
            for (const auto &[unused, u] : user->uses)
                if (u.provider == this && u.provides == n)
                    return user;
        return nullptr;
    }

    const Framework &framework;
    const std::string type, name;
    std::unique_ptr<Component> component;
    std::map<std::string, Provided> provides;
    std::map<std::string, Used> uses;
    std::vector<const Instance *> users; /* one for each connection */
};

Framework::Framework() = default;

Framework::~Framework()
{
    while (!instances_.empty()) {
        try {
            instances_.back()->component->setServices(nullptr);
        } catch (...) { /* it is going away in any case */
        }
        instances_.pop_back();
    }
}

Port *Framework::offered(const std::string &type) const
{
    auto found = own_.find(type);
    return found == own_.end() ? nullptr : found->second;
}

/* A *.cca file names a library, beside it or absolute, and then its functions and classes: "create_Flux Flux". */
void Framework::search(const std::string &directory, bool instead)
{
    namespace fs = std::filesystem;
    std::error_code problem;
    std::vector<fs::path> files;
    std::map<std::string, Maker> there;
    for (fs::directory_iterator entry(directory, problem), end; !problem && entry != end; entry.increment(problem))
        if (entry->path().extension() == ".cca")
            files.push_back(entry->path());
    if (problem)
        throw Error("path: " + directory + ": " + problem.message());
    std::sort(files.begin(), files.end());
    for (const fs::path &file : files) {
        std::ifstream in(file);
        std::string line, library;
        for (int number = 1; std::getline(in, line); number++) {
            std::istringstream words(line);
            std::string first, second, rest;
            if (!(words >> first) || first[0] == '!' || first[0] == '#')
                continue;
            if (library.empty()) {
                library = file.parent_path() / first;
                continue;
            }
            if (!(words >> second) || words >> rest)
                throw Error(file.string() + ":" + std::to_string(number) + ": expected: FUNCTION CLASS, as in: create_Flux Flux");
            there.emplace(second, Maker{library, first, nullptr});
        }
    }
    for (const auto &[name, maker] : known_)
        if (!instead || maker.symbol)
            there.insert_or_assign(name, maker);
    known_ = std::move(there);
}

void Framework::load(const std::string &type, bool global)
{
    auto found = known_.find(type);
    if (found == known_.end())
        throw Error("no class " + type + " in the path; there are: " + names(known_));
    Maker &maker = found->second;
    if (maker.symbol)
        return;
    void *library = dlopen(maker.library.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library)
        throw Error(std::string("cannot load it: ") + dlerror());
    maker.symbol = dlsym(library, maker.function.c_str());
    if (!maker.symbol)
        throw Error(maker.library + " has no function " + maker.function + "; its .cca file names it");
}

std::vector<std::string> Framework::known() const
{
    std::vector<std::string> list;
    for (const auto &[name, unused] : known_)
        list.push_back(name);
    return list;
}

std::vector<std::string> Framework::loaded() const
{
    std::vector<std::string> list;
    for (const auto &[name, maker] : known_)
        if (maker.symbol)
            list.push_back(name);
    return list;
}

Instance &Framework::find(const std::string &name) const
{
    std::map<std::string, int> there;
    for (const auto &i : instances_) {
        if (i->name == name)
            return *i;
        there[i->name];
    }
    throw Error("no instance " + name + "; there are: " + names(there));
}

void Framework::create(const std::string &type, const std::string &name)
{
    auto maker = known_.find(type);
    if (maker == known_.end() || !maker->second.symbol)
        throw Error("class " + type + " is not loaded; say before: repository get-global " + type);
    for (const auto &i : instances_)
        if (i->name == name)
            throw Error("there is an instance " + name + " already, of class " + i->type);
    auto instance = std::make_unique<Instance>(*this, type, name);
    instance->component.reset(reinterpret_cast<Component *(*)()>(maker->second.symbol)());
    if (!instance->component)
        throw Error(maker->second.function + " returned NULL");
    instance->component->setServices(instance.get());
    instances_.push_back(std::move(instance));
}

void Framework::connect(const std::string &user, const std::string &uses, const std::string &provider, const std::string &provides)
{
    Instance &u = find(user), &p = find(provider);
    auto from = u.uses.find(uses);
    if (from == u.uses.end())
        throw Error(user + " has no uses port " + uses + "; it has: " + names(u.uses));
    auto to = p.provides.find(provides);
    if (to == p.provides.end())
        throw Error(provider + " has no provides port " + provides + "; it has: " + names(p.provides));
    const char *wanted = from->second.info->getType(), *there = to->second.info->getType();
    if (strcmp(wanted, there) != 0)
        throw Error(user + " uses a port of type " + wanted + ", and " + provider + " provides one of type " + there);
    if (from->second.provider)
        throw Error(user + "'s port " + uses + " is connected to " + from->second.provider->name + " already; disconnect it first");
    if (from->second.taken)
        throw Error(user + "'s port " + uses + " is in use");
    from->second.provider = &p;
    from->second.provides = provides;
    p.users.push_back(&u);
}

void Framework::disconnect(const std::string &user, const std::string &uses, const std::string &provider, const std::string &provides)
{
    Instance &u = find(user), &p = find(provider);
    auto from = u.uses.find(uses);
    if (from == u.uses.end() || from->second.provider != &p || from->second.provides != provides)
        throw Error(user + "'s port " + uses + " is not connected to " + provider + "'s " + provides);
    if (from->second.taken)
        throw Error(user + "'s port " + uses + " is in use");
    from->second.provider = nullptr;
    p.users.erase(std::find(p.users.begin(), p.users.end(), &u));
}

void Framework::remove(const std::string &name)
{
    Instance &i = find(name);
    for (const Instance *user : i.users)
        if (user != &i)
            throw Error(name + " is in use by " + user->name + "; disconnect it first");
    for (const auto &[port, u] : i.uses)
        if (u.provider && u.taken)
            throw Error(name + "'s port " + port + " is in use");
    i.component->setServices(nullptr);
    for (const auto &[unused, u] : i.uses)
        if (u.provider && u.provider != &i)
            u.provider->users.erase(std::find(u.provider->users.begin(), u.provider->users.end(), &i));
    instances_.erase(std::find_if(instances_.begin(), instances_.end(), [&](const auto &x) { return x.get() == &i; }));
}

namespace {

template <class Wanted> Wanted &provided(Instance &i, const std::string &port, const char *what)
{
    auto found = i.provides.find(port);
    if (found == i.provides.end())
        throw Error(i.name + " has no provides port " + port + "; it has: " + names(i.provides));
    auto *wanted = dynamic_cast<Wanted *>(found->second.port);
    if (!wanted)
        throw Error(i.name + "'s port " + port + " is no " + what + ", but of type " + found->second.info->getType());
    return *wanted;
}

}

void Framework::go(const std::string &name, const std::string &port)
{
    int failed = provided<GoPort>(find(name), port, "GoPort").go();
    if (failed)
        throw Error(name + " " + port + " returned " + std::to_string(failed));
}

void Framework::set(const std::string &name, const std::string &port, const std::string &parameter, const std::string &value)
{
    provided<ParameterPort>(find(name), port, "ParameterPort").set(parameter, value);
}

std::string Framework::describe() const
{
    std::string text;
    for (const auto &i : instances_) {
        text += i->name + " of " + i->type + "\n";
        for (const auto &[port, p] : i->provides)
            text += "    provides " + port + " (" + p.info->getType() + ")\n";
        for (const auto &[port, u] : i->uses)
            text += "    uses " + port + " (" + u.info->getType() + ")" +
                    (u.provider ? " of " + u.provider->name + " " + u.provides : "") + "\n";
    }
    return text;
}

namespace {

using Words = std::vector<std::string>;

std::string lines(const std::string &head, const std::vector<std::string> &list)
{
    std::string text = head + "\n";
    for (const std::string &item : list)
        text += "    " + item + "\n";
    return text;
}

void path(Framework &f, const Words &w, std::string &)
{
    bool set = w[1] == "set", append = w[1] == "append" || w[1] == "prepend";
    if (w[1] != "init" && !set && !append)
        throw Error("path: expected set, append, prepend or init, not " + w[1]);
    if (w[1] != "init" && w.size() != 3)
        throw Error("path " + w[1] + ": of which directory?");
    if (w.size() == 3)
        f.search(w[2], set);
}

void repository(Framework &f, const Words &w, std::string &output)
{
    if (w[1] == "list")
        output = lines("classes in the path:", f.known());
    else if (w[1] != "get-global" && w[1] != "get")
        throw Error("repository: expected get-global, get or list, not " + w[1]);
    else if (w.size() != 3)
        throw Error("repository " + w[1] + ": which class?");
    else
        f.load(w[2], w[1] == "get-global");
}

const struct Command {
    const char *names, *usage;
    size_t least, most;
    void (*run)(Framework &, const Words &, std::string &output); /* NULL: the script ends */
} commands[] = {
    {"path", "path set|append|prepend DIRECTORY, or: path init", 2, 3, path},
    {"repository rep", "repository get-global CLASS, or: repository list", 2, 3, repository},
    {"pallet palette", "pallet", 1, 1, [](Framework &f, const Words &, std::string &o) { o = lines("classes that are loaded:", f.loaded()); }},
    {"create instantiate", "create CLASS INSTANCE", 3, 3, [](Framework &f, const Words &w, std::string &) { f.create(w[1], w[2]); }},
    {"connect", "connect USER USESPORT PROVIDER PROVIDESPORT", 5, 5, [](Framework &f, const Words &w, std::string &) { f.connect(w[1], w[2], w[3], w[4]); }},
    {"disconnect", "disconnect USER USESPORT PROVIDER PROVIDESPORT", 5, 5, [](Framework &f, const Words &w, std::string &) { f.disconnect(w[1], w[2], w[3], w[4]); }},
    {"remove", "remove INSTANCE", 2, 2, [](Framework &f, const Words &w, std::string &) { f.remove(w[1]); }},
    {"parameters", "parameters INSTANCE PORT NAME VALUE", 5, 5, [](Framework &f, const Words &w, std::string &) { f.set(w[1], w[2], w[3], w[4]); }},
    {"arena instances", "arena", 1, 1, [](Framework &f, const Words &, std::string &o) { o = f.describe(); }},
    {"go run", "go INSTANCE PORT", 3, 3, [](Framework &f, const Words &w, std::string &) { f.go(w[1], w[2]); }},
    {"bye exit quit", "bye", 1, 1, nullptr},
};

bool called(const Command &c, const std::string &name)
{
    return (" " + std::string(c.names) + " ").find(" " + name + " ") != std::string::npos;
}

}

bool command(Framework &f, const Words &words, std::string &output)
{
    std::string all;
    for (const Command &c : commands) {
        if (!called(c, words[0])) {
            all += (all.empty() ? "" : ", ") + std::string(c.names).substr(0, std::string(c.names).find(' '));
            continue;
        }
        if (words.size() < c.least || words.size() > c.most)
            throw Error(std::string("expected: ") + c.usage);
        if (c.run)
            c.run(f, words, output);
        return c.run != nullptr;
    }
    throw Error("unknown command " + words[0] + "; there are: " + all);
}

}
