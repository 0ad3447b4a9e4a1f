#pragma once
#include <memory>
namespace covariant {
struct Shape {
    virtual ~Shape() = default;
    virtual Shape *clone() const = 0;
    virtual const Shape &self() const = 0;
    virtual int area() const = 0;
    virtual void *raw() = 0;
    virtual bool equals(const Shape &other) const = 0;
};
struct Polygon : Shape {
    Polygon *clone() const override = 0;
    virtual int corners() const = 0;
};
struct Square : Polygon {
    Square *clone() const override = 0;
    const Square &self() const override = 0;
    virtual int side() const = 0;
};
}
