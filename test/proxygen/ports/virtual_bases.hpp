#pragma once
namespace virtual_bases {
struct Root {
    virtual ~Root() = default;
    virtual int id() const = 0;
    virtual Root &self() = 0;
    virtual int value() { return 1; }
protected:
    virtual int inner(int) = 0;
};
struct Left : virtual Root {
    virtual int left(int) = 0;
    int call(int i) { return inner(i); }
};
struct Right : virtual Root {
    virtual int right(int) = 0;
    Right &self() override = 0; // more exact than Root's, and found first
    int value() override { return 2; }
};
struct Port : Left, virtual Right {
    virtual int own(int) = 0;
};
}
