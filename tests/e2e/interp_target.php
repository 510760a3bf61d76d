<?php
// SPDX-License-Identifier: Apache-2.0
// A program for PHP 8 that stops in a known place, named by its argument, and tells its stack, as JSON
// on standard output, as it sees it itself; it stays until its standard input ends.
namespace Some\Space;

function stop()
{
    $t = \debug_backtrace(); echo \json_encode(["pid" => \getmypid(), "version" => PHP_VERSION, "line" => __LINE__, "file" => __FILE__, "trace" => \array_map(fn($f) => \array_diff_key($f, ["args" => 1, "object" => 1]), $t)], JSON_PARTIAL_OUTPUT_ON_ERROR), "\n"; \fgets(STDIN);
}

interface Runs { function run(); }

trait Shared
{
    function shared()
    {
        return (function () {
            stop();
        })();
    }
}

class Base implements Runs
{
    use Shared;

    function run()
    {
        return static::made($this);
    }

    static function made($o)
    {
        return $o->shared();
    }

    function __invoke($x)
    {
        return $this->run();
    }

    function __call($name, $arguments)
    {
        return $this($name);
    }

    function __toString(): string
    {
        $this->nothing();
        return "";
    }

    function __destruct()
    {
        if (isset($this->last))
            stop();
    }

    public $last = null;
}

class Derived extends Base
{
    function run()
    {
        return parent::run();
    }
}

function deep(int $n)
{
    if ($n > 0)
        return deep(
            $n - 1);
    stop();
}

function numbers()
{
    yield 1;
    stop();
    yield 2;
}

function delegated()
{
    yield from numbers();
}

$jobs = [
    "plain" => function () { stop(); },
    "methods" => function () { (new Derived)->run(); },
    "magic" => function () { return "" . new Derived; },
    "internal" => function () {
        return \array_map(function ($x) {
            \usort($x, fn($a, $b) => stop());
        }, [[2, 1]]);
    },
    "deep" => function () { deep(2000); },
    "generator" => function () { foreach (numbers() as $n); },
    "eval" => function () { return eval("\n\nfunction inside() { \\Some\\Space\\stop(); }\n\n inside();"); },
    "anonymous" => function () {
        $o = new class { function f() { stop(); } };
        $o->f();
    },
    "destructor" => function () {
        $o = new Base;
        $o->last = 1;
        $o = null;
    },
    "fiber" => function () { (new \Fiber(fn() => stop()))->start(); },
    "resumed" => function () {
        $fiber = new \Fiber(function () {
            \Fiber::suspend();
            (new \Fiber(function ($x) { stop(); }))->start(1);
        });
        $fiber->start();
        \array_map(fn($f) => $f->resume(), [$fiber]);
    },
    "included" => function () { include $GLOBALS["argv"][2]; },
];
$jobs[$argv[1]]();
