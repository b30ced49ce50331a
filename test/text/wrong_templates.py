#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what is said about templates that are wrong, or want too much.

usage: wrong_templates.py DRIVER"""
import sys
import time

import templates

DEEP = 300
CASES = ["a\n{% include 'x' %}", "{{ text|shout }}", "{{ 1 is good }}", "ä\nöü{{ nope.x }}", "{{ 1 + 'a' }}", "{{ raise_exception('no\x1b system') }}",
         "{{ 99999999999999999999 }}", "{{ 9223372036854775807 + 1 }}", "{{ '" + "x" * 10, "{{ \"\\ud83d\" }}", "{{ [1, 2) }}", "{% for x in numbers recursive %}{% endfor %}",
         "{{ " + "(" * DEEP + "1" + ")" * DEEP + " }}", "{% if 1 %}" * DEEP + "{% endif %}" * DEEP, "{{ " + "-" * 5000 + "1 }}", "{{ " + "not " * 5000 + "1 }}",
         "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
         "{% set n = namespace(x='ab') %}{% for i in range(100) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
         "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "{{ 'ab' * 999999999999 }}", "{{ range(999999) }}",
         "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == [n.x, 1] }}{{ n.x|tojson|length }}",
         "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}",
         "{{ ('a' * 100000)|replace('', 'b' * 100000) }}", "{{ ('x ' * 1000000)|upper|length }}{{ 'a' * 200000000 }}{{ 'a' * 200000000 }}"]


def main():
    for source in CASES:
        begin = time.process_time()
        (status, text), = templates.got(sys.argv[1], [(source, templates.VARIABLES)])
        assert status == 3, f"{source[:200]}: {status} {text[:200]}"
        print(text)
        assert time.process_time() - begin < 10


if __name__ == "__main__":
    main()
