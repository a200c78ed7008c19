// a store with every shape that is hard to read
#ifndef NOBODY_SETS_THIS
#define NOTE(text) do { (void)(text); } while (0)
#endif
#include <stdexcept>
#include <string>
#include <vector>
#ifdef NOBODY_HAS_THIS
#include <nobody.h>
#endif

#define REGISTER(name) namespace register_##name { }
#define OPEN_BRACE {
static const char *const brace = "}}} // \" {";
static const char *const raw = R"x(void Store::put(int) { )" } )x";
#if 0
int Store::put(int key) { don
#endif

namespace {
int traced;
int note(int value) { return traced += value; }
}

REGISTER(store)
class Base {
public:
	virtual ~Base() {}
	virtual int size() const { return 0; }
};

namespace outer {
namespace inner {
struct Store : public Base {
	struct Shard {
		std::vector<int> keys;
		int size() const
		{
			return (int)keys.size();
		}
	};
	Shard shard;
	int limit, unused;
	Store(int limit_);
	int put(int key);
	int put(const std::string &key /* { */, int times = 1);
	template <class T> int get(T key);
	bool operator()(int key) const { return key > 0; }
	int size() const override
	{
		return shard.size();
	}
};

Store::Store(int limit_)
	: shard(), limit{limit_},
	  unused{0}
{
	NOTE(raw);
}

int Store::put(int key)
{
	auto fits = [this](int size) {
		if (size >= limit) { return false; }
		return true;
	};
	if (!fits(shard.size()))
		throw std::runtime_error("full }");
	if (key < 0)
		return -1;
#ifdef NOBODY_SETS_THIS
	note(7);
#else
	note(1);
#endif
	shard.keys.push_back(key);
	return key;
}

int Store::put(const std::string &key, int times)
{
	int done = 0;
	while (times-- > 0)
		done += put((int)key.size());
	return done;
}

template <class T>
int Store::get(T key)
{
	for (int each : shard.keys)
		if (each == key)
			return each;
	return -1;
}
}
}

static int oneline(int x) { return x; }

extern "C" {
auto last(int x) noexcept -> int
{
	int kept = oneline(x); // the call
	return kept + note(0);
}
}
