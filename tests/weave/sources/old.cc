#include <stdint.h>
#include <stdio.h>
struct Mutex {
  int held;
  Mutex() : held(0) {}
  void Lock() { held++; printf("locked\n"); }
  void Unlock() { held--; printf("unlocked\n"); }
  struct Locker {
    Mutex &mutex;
    Locker(Mutex &m) : mutex(m) { mutex.Lock(); }
    ~Locker() { mutex.Unlock(); }
  };
};

struct Op { int id; bool operator==(const Op &other) const; };
bool Op::operator==(const Op &other) const
{
  return id == other.id;
}

static Op *none;
struct Store {
  Mutex lock;
  int work(Op *op, int times);
};

int Store::work(Op *op, int times)
{
  if (times == 0)
    return -1;
  for (int i = 0; i < times; i++) {
    Mutex::Locker guard(lock);
    printf("work %d\n", op->id);
    if (i == 1)
      return i;
  }
  switch (times) {
  case 1:
    lock.Lock();
    lock.Unlock();
    break;
  default:
    lock.Lock();
    lock.Unlock();
  }
  op = NULL;
  return 0;
}

int main()
{
  Op op = {7};
  Store store;
  int got = store.work(&op, 0) + store.work(&op, 1) + store.work(&op, 2);
  return op == op ? got : 9;
}
