#!/bin/sh
# venv_run.sh VENV COUNT SCRIPT [ARG]...   runs a Python script in the virtual environment; without one, COUNT tests
#                                          are counted as skipped.
# venv_run.sh VENV --which PYTHON          names the Python to use: the environment's, else the one given.
venv=$1
if [ "$2" = --which ]; then
    if [ -x "$venv/bin/python" ]; then echo "$venv/bin/python"; else echo "$3"; fi
    exit 0
fi
count=$2
shift 2
if [ -x "$venv/bin/python" ]; then
    exec "$venv/bin/python" "$@"
fi
echo "skipped: $1: $(cat "$venv.note" 2>/dev/null || echo 'no virtual environment')"
echo "0 passed, 0 failed, $count skipped"
