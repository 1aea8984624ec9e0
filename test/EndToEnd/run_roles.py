"""Runs the ranks of a program that pmc --emit=cpp wrote as threads of this process,
where stand-ins compute what ranks exchange. Arguments: a shared object of the source
for each rank, "--", and the options of all. The status is 1 where a rank's is not 0.
"""

import ctypes
import sys
import threading

ROLE_MAIN = "_Z9role_mainiPPc"  # int role_main(int, char **), which main is renamed to


def main():
    objects = sys.argv[1:sys.argv.index("--")]
    options = sys.argv[sys.argv.index("--") + 1:]
    status = [1] * len(objects)

    def run(rank, function):
        arguments = [f"--rank={rank}", f"--ranks={len(objects)}", f"--device={rank}",
                     *options]
        words = [word.encode() for word in ["role", *arguments]]
        status[rank] = function(len(words), (ctypes.c_char_p * len(words))(*words))

    threads = [threading.Thread(target=run, args=(rank, ctypes.CDLL(path)[ROLE_MAIN]))
               for rank, path in enumerate(objects)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return int(any(status))


if __name__ == "__main__":
    sys.exit(main())
