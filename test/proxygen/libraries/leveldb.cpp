// LevelDB with everything that it lets its users replace behind proxies, and itself behind one.
// proxy: env_proxy.hpp /usr/include/leveldb/env.h -- -I/usr/include
// proxy: db_proxy.hpp /usr/include/leveldb/db.h --port leveldb::DB -- -I/usr/include
// proxy: iterator_proxy.hpp /usr/include/leveldb/iterator.h -- -I/usr/include
// proxy: comparator_proxy.hpp /usr/include/leveldb/comparator.h -- -I/usr/include
// proxy: filter_proxy.hpp /usr/include/leveldb/filter_policy.h -- -I/usr/include
// link: -lleveldb
#include "comparator_proxy.hpp"
#include "db_proxy.hpp"
#include "env_proxy.hpp"
#include "filter_proxy.hpp"
#include "iterator_proxy.hpp"

#include "check.hpp"
#include <leveldb/write_batch.h>
#include <memory>

using namespace leveldb;

static void exercise(DB &db, check::trace &t)
{
    for (int i = 0; i < 2000; i++)
        t << db.Put({}, "key" + std::to_string(i * 7919 % 2000), std::string(static_cast<std::size_t>(i % 300), 'v')).ok();
    WriteBatch batch;
    batch.Put("key1", "batched");
    batch.Delete("key2");
    t << db.Write({}, &batch).ToString() << db.Delete({}, "key3").ToString();
    const Snapshot *snapshot = db.GetSnapshot();
    db.Put({}, "key4", "later");
    ReadOptions then;
    then.snapshot = snapshot;
    std::string value, property;
    t << db.Get({}, "key1", &value).ToString() << value << db.Get({}, "key2", &value).ToString() << db.Get({}, "key4", &value).ok() << value;
    db.Get(then, "key4", &value);
    t << value;
    db.CompactRange(nullptr, nullptr);
    t << db.Get({}, "key5", &value).ok() << value << db.GetProperty("leveldb.num-files-at-level0", &property) << property;
    Range range("key0", "key9");
    std::uint64_t size = 0;
    db.GetApproximateSizes(&range, 1, &size);
    t << (size > 0);
    const std::unique_ptr<Iterator> real(db.NewIterator({}));
    IteratorProxy it(*real);
    int n = 0;
    for (it.SeekToFirst(); it.Valid(); it.Next())
        n += static_cast<int>(it.key().size() + it.value().size());
    it.SeekToLast();
    t << n << it.key().ToString();
    it.Prev();
    t << it.key().ToString() << it.status().ToString();
    it.Seek("key77");
    t << it.key().ToString();
    db.ReleaseSnapshot(snapshot);
}

int main()
{
    check::trace direct, behind;
    const std::unique_ptr<const FilterPolicy> bloom(NewBloomFilterPolicy(10));
    EnvProxy env(*Env::Default());
    ComparatorProxy comparator(const_cast<Comparator &>(*BytewiseComparator()));
    FilterPolicyProxy filter(const_cast<FilterPolicy &>(*bloom));
    for (bool proxied : {false, true}) {
        Options options;
        options.create_if_missing = true;
        options.write_buffer_size = 65536;
        options.filter_policy = proxied ? &filter : bloom.get();
        if (proxied) {
            options.env = &env;
            options.comparator = &comparator;
        }
        DB *opened = nullptr;
        check::expect(DB::Open(options, proxied ? "proxied" : "direct", &opened).ok(), "open");
        const std::unique_ptr<DB> db(opened);
        if (proxied) {
            DBProxy proxy(*db);
            exercise(proxy, behind);
            check::all_called(proxy.marple_methods());
        } else {
            exercise(*db, direct);
        }
    }
    check::expect(direct.text() == behind.text(), direct.text() + "\n" + behind.text());
    for (const char *name : {"NewWritableFile", "RenameFile", "LockFile", "Schedule", "Compare", "FindShortestSeparator", "CreateFilter", "KeyMayMatch"})
        check::expect(check::calls[name] > 0, std::string(name) + " was not called");
    return check::failures != 0;
}
