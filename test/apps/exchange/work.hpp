// A port of which an implementation is as good as another one, but for its time.
#pragma once

namespace exchange {

class Worker {
public:
    virtual ~Worker() = default;
    virtual int work(int n) = 0;
};

}
