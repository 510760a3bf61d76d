// SPDX-License-Identifier: Apache-2.0
/// Counts words: ranges, templates, nested functions, delegates and an exception.
module words;

import std.algorithm : filter, map, sort, splitter;
import std.array : array, byPair;
import std.ascii : isAlpha, toLower;
import std.conv : to;
import std.format : format;
import std.stdio : stderr, stdin, writeln;
import std.typecons : Tuple, tuple;

struct Table(Key, Value)
{
	private Value[Key] counts;

	void add(Key key)
	{
		counts[key] = counts.get(key, 0) + 1;
	}

	auto most(size_t n) const
	{
		Tuple!(Key, Value)[] all;
		foreach (key, value; counts)
			all ~= tuple(key, cast(Value) value);
		bool before(Tuple!(Key, Value) a, Tuple!(Key, Value) b)
		{
			return a[1] != b[1] ? a[1] > b[1] : a[0] < b[0];
		}

		all.sort!before;
		return n < all.length ? all[0 .. n] : all;
	}
}

class BadText : Exception
{
	this(string what, size_t line)
	{
		super(format("line %d: %s", line, what));
	}
}

interface Source
{
	string[] next();
}

class Lines : Source
{
	private size_t number;

	override string[] next()
	{
		auto line = stdin.readln();
		if (line is null)
			return null;
		number++;
		foreach (c; line)
			if (c == 0)
				throw new BadText("a NUL", number);
		return wordsOf(line) ~ "";
	}
}

string[] wordsOf(const(char)[] line)
{
	return line.splitter!(c => !isAlpha(c))
		.filter!(w => w.length > 0)
		.map!(w => w.map!(c => toLower(cast(char) c)).to!string)
		.array;
}

int main()
{
	Table!(string, size_t) table;
	Source source = new Lines;
	try
	{
		for (auto some = source.next(); some !is null; some = source.next())
			foreach (word; some[0 .. $ - 1])
				table.add(word);
	}
	catch (BadText bad)
	{
		stderr.writeln(bad.msg);
		return 1;
	}
	foreach (pair; table.most(10))
		writeln(pair[1], " ", pair[0]);
	return 0;
}
