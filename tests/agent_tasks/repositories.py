"""Small repositories in six languages, each with a check of its own: `make test`."""

PYTHON = {
    "Makefile": "test:\n\tpython3 -m unittest -q\n",
    "shop/__init__.py": "",
    "shop/money.py": "def rounded(amount):\n    return round(amount, 2)\n",
    "shop/cart.py": (
        "from shop.money import rounded\n\n\n"
        "def total(items):\n"
        '    """The price of all items."""\n'
        "    return rounded(sum(price for name, price, count in items))\n\n\n"
        "def is_empty(items):\n"
        "    return not items\n"
    ),
    "tests/__init__.py": "",
    "tests/test_cart.py": (
        "import unittest\n\nfrom shop.cart import is_empty, total\n\n\n"
        "class CartTest(unittest.TestCase):\n"
        "    def test_the_total_counts_every_piece(self):\n"
        "        self.assertEqual(total([('apple', 1.5, 2), ('pear', 2, 1)]), 5)\n\n"
        "    def test_nothing_is_empty(self):\n"
        "        self.assertTrue(is_empty([]))\n"
    ),
}
"""Its check fails: the total leaves out the counts."""

C = {
    "Makefile": "test: stack.c stack.h test.c\n\tcc -Wall -o run_tests stack.c test.c && ./run_tests\n",
    ".gitignore": "run_tests\n",
    "stack.h": "#define LIMIT 4\nint push(int value);\nint pop(int *value);\nint depth(void);\n",
    "stack.c": (
        '#include "stack.h"\n\nstatic int values[LIMIT];\nstatic int top;\n\n'
        "int push(int value)\n{\n    if (top > LIMIT)\n        return -1;\n"
        "    values[top++] = value;\n    return 0;\n}\n\n"
        "int pop(int *value)\n{\n    if (top == 0)\n        return -1;\n"
        "    *value = values[--top];\n    return 0;\n}\n\n"
        "int depth(void)\n{\n    return top;\n}\n"
    ),
    "test.c": (
        '#include <stdio.h>\n#include "stack.h"\n\n'
        "int main(void)\n{\n    for (int i = 0; i < LIMIT; i++)\n        push(i);\n"
        '    if (push(9) != -1) {\n        puts("FAILED: a full stack takes more");\n        return 1;\n    }\n'
        '    puts("passed");\n    return 0;\n}\n'
    ),
}
"""Its check fails: a full stack takes one more."""

JAVASCRIPT = {
    "Makefile": "test:\n\tnode test.js\n",
    "src/parse.js": 'exports.parse = (line) => line.split(",").map((cell) => cell.trim());\n',
    "src/format.js": 'exports.format = (cells) => cells.join(" | ");\n',
    "src/cli.js": (
        'const { parse } = require("./parse");\nconst { format } = require("./format");\n\n'
        "exports.run = (line) => format(parse(line));\n"
    ),
    "test.js": (
        'const assert = require("node:assert");\nconst { run } = require("./src/cli");\n\n'
        'assert.strictEqual(run("a, b"), "a | b");\nconsole.log("passed");\n'
    ),
}
"""Its check passes."""

RUST = {
    "Makefile": "test:\n\trustc --edition 2021 --test -o run_tests src/lib.rs && ./run_tests -q\n",
    ".gitignore": "run_tests\n",
    "src/lib.rs": (
        "mod area;\nmod report;\n\npub use area::calc;\npub use report::line;\n\n"
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a_line_names_the_area() {\n"
        '        assert_eq!(super::line(2, 3), "area 6");\n        assert_eq!(super::calc(2, 3), 6);\n    }\n}\n'
    ),
    "src/area.rs": "pub fn calc(width: u32, height: u32) -> u32 {\n    width * height\n}\n",
    "src/report.rs": (
        "use crate::area::calc;\n\npub fn line(width: u32, height: u32) -> String {\n"
        '    format!("area {}", calc(width, height))\n}\n'
    ),
}
"""Its check passes."""

GO = {
    "Makefile": "test:\n\tsh check.sh\n",
    # There may be no Go here.
    "check.sh": (
        "for file in greet/*.go; do\n"
        '    grep -q "^package greet" "$file" || { echo "$file: wrong package"; exit 1; }\ndone\n'
        'grep -q "^func Farewell(name string) string" greet/*.go || { echo "undefined: greet.Farewell"; exit 1; }\n'
        "echo passed\n"
    ),
    "go.mod": "module example.com/hello\n\ngo 1.22\n",
    "greet/greet.go": 'package greet\n\nfunc Hello(name string) string {\n\treturn "Hello, " + name\n}\n',
    "main.go": (
        'package main\n\nimport (\n\t"fmt"\n\n\t"example.com/hello/greet"\n)\n\n'
        'func main() {\n\tfmt.Println(greet.Hello("Ada"))\n\tfmt.Println(greet.Farewell("Ada"))\n}\n'
    ),
}
"""Its check fails: there is no Farewell. The check is a shell script."""

JAVA = {
    "Makefile": "test:\n\tjavac -d out src/*.java && java -cp out QueueTest\n",
    ".gitignore": "out/\n",
    "src/Queue.java": (
        "import java.util.ArrayList;\nimport java.util.List;\n\nclass Queue {\n"
        "    private final List<String> names = new ArrayList<>();\n\n"
        "    void join(String name) {\n        names.add(name);\n    }\n\n"
        "    String next() {\n        return names.remove(0);\n    }\n\n"
        "    int size() {\n        return names.size();\n    }\n}\n"
    ),
    "src/OldQueue.java": "class OldQueue {\n    int size() {\n        return 0;\n    }\n}\n",
    "src/QueueTest.java": (
        "class QueueTest {\n    public static void main(String[] arguments) {\n        Queue queue = new Queue();\n"
        '        queue.join("Ada");\n        if (!queue.next().equals("Ada") || queue.size() != 0) {\n'
        "            System.exit(1);\n        }\n"
        '        System.out.println("passed");\n    }\n}\n'
    ),
}
"""Its check passes."""
