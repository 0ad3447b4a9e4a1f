/*
 * What a member of a family of interchangeable components predicts of itself, in the form of N. Trebon's thesis
 * (University of Oregon, 2005, figure 7). `marple select --emit-cpp` writes such classes from a file of
 * families; classes written by hand are as good.
 */
#ifndef MARPLE_FAMILY_HPP
#define MARPLE_FAMILY_HPP

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace modeling {

class AbstractFamilyMember {
public:
    explicit AbstractFamilyMember(std::string name) : name_(std::move(name)) {}
    virtual ~AbstractFamilyMember() = default;

    /*
     * Predicts one invocation of a method for these inputs. "Exec. Time" is its expected time; "Deviation", in the
     * same unit, and qualities by their names are there where they are known. Returns 0, or -1 if there is no
     * model of the method or too few inputs, and then predicts nothing.
     */
    virtual int getPerfPrediction(std::vector<double> inputs, std::string method_name,
                                  std::map<std::string, double> &predictions) = 0;

    /* Names of the inputs, in their order. */
    virtual std::vector<std::string> inputNames() const { return {}; }

    const std::string &name() const { return name_; }

private:
    std::string name_;
};

} // namespace modeling

#endif
