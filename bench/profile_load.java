// SPDX-License-Identifier: Apache-2.0
// A JVM with something to do: run-time code, the collector and the compilers.
// Ends after ARGUMENT seconds of processor time.
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class profile_load {
    private static final Pattern WORD = Pattern.compile("[a-z]+");

    record Order(int customer, String text, double price) {
    }

    static List<Order> orders(Random dice, int n) {
        List<Order> made = new ArrayList<>();
        for (int i = 0; i < n; i++)
            made.add(new Order(dice.nextInt(1000), "order " + Integer.toString(dice.nextInt(), 36), dice.nextDouble()));
        return made;
    }

    static Map<Integer, Double> totals(List<Order> orders) {
        return orders.stream().collect(Collectors.groupingBy(Order::customer, Collectors.summingDouble(Order::price)));
    }

    static int words(List<Order> orders) {
        Map<String, Integer> seen = new HashMap<>();
        for (Order o : orders) {
            var m = WORD.matcher(o.text());
            while (m.find())
                seen.merge(m.group(), 1, Integer::sum);
        }
        return seen.size();
    }

    public static void main(String[] args) {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long end = Long.parseLong(args[0]) * 1_000_000_000L;
        Random dice = new Random(1);
        List<List<Order>> kept = new ArrayList<>();
        long sum = 0;
        for (int round = 0; system.getProcessCpuTime() < end; round++) {
            var orders = orders(dice, 20_000);
            sum += totals(orders).size() + words(orders);
            kept.add(orders);
            if (kept.size() > 20)
                kept.remove(dice.nextInt(kept.size()));
            if (round % 50 == 0)
                System.gc();
        }
        System.out.println(sum);
    }
}
