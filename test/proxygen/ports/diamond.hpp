#pragma once
namespace diamond {
// Twice the same base, not virtually: it is ambiguous what is meant by a name.
struct Root {
    virtual ~Root() = default;
    virtual int id(int) const = 0;
    virtual int redone(int) = 0;
};
struct Left : Root { virtual int left() = 0; };
struct Right : Root { virtual int right() = 0; };
struct Port : Left, Right { int redone(int) override = 0; };
}
