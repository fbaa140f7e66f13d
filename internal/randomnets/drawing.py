"""What scripts of this folder share: random choices, and the arguments that say how many cases there are, from which seed on."""
import argparse
import random


class Draw(random.Random):
    def of(self, *choices):
        return self.choice(choices)

    def maybe(self, chance, **settings):
        """Some of the settings: each with the chance."""
        return {k: v for k, v in settings.items() if self.random() < chance}


def arguments():
    """--count, --seed and --out."""
    p = argparse.ArgumentParser()
    p.add_argument('--count', type=int, default=100)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--out')
    return p
