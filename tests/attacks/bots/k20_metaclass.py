# TRIES: define Bot with a metaclass that raises and lies when called; MUST: be a load fault. EXPECT: fault:load
class Meta(type):
    def __call__(cls):
        raise SystemExit(0)

    def __instancecheck__(cls, other):
        return True


class Bot(metaclass=Meta):
    pass
